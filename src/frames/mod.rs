//! The frames of a video as teams get them: taken once, kept on disk, and taken again where what is kept is damaged. Servers
//! that share their media share the frames too. Knows nothing of HTTP nor of who may ask.

mod kept;
mod parcel;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as AsyncMutex, Semaphore};

use crate::media::{Media, MediaError};
use crate::store::videos::VideoFileRow;
use crate::telemetry::Metrics;
use crate::video::{Picture, VideoError, sample};

pub use kept::FrameFacts;
use kept::{Kept, MAX_CHOICES};
use parcel::{pack, unpack};

/// How many choices one process takes the frames of before those that nobody waits for are forgotten.
const SWEEP_ABOVE: usize = 1000;

/// Which frames of a video are wanted, and how large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// How many, at even steps.
    pub n: u32,
    /// Pixels along the longest side, at most.
    pub size: u32,
}

/// Why there are no frames.
#[derive(Debug, thiserror::Error)]
pub enum FramesError {
    /// The maintainers have not added the file, or it is gone.
    #[error("the video's file is not on the server")]
    Missing,
    /// The file is not what it was when it was imported.
    #[error("the video {0}: {1}")]
    Video(String, VideoError),
    /// The file or its frames cannot be fetched or shared.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// The disk refuses.
    #[error("the frames cannot be kept: {0}")]
    Disk(#[from] io::Error),
    /// A thread died.
    #[error("a task ended early: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// The frames of all videos; one a process.
pub struct Frames {
    media: Media,
    kept: Kept,
    /// How many videos are decoded at once.
    turns: Arc<Semaphore>,
    /// Whoever takes the frames of one choice holds its lock, so that all others wait and then find them kept.
    flights: Mutex<HashMap<PathBuf, Weak<AsyncMutex<()>>>>,
    metrics: Arc<Metrics>,
}

impl Frames {
    /// The frames of kept videos, themselves kept below `data_dir`.
    ///
    /// # Errors
    /// When the folder cannot be made, or what an earlier process left unfinished cannot be removed.
    pub fn new(media: Media, data_dir: &Path, metrics: Arc<Metrics>) -> io::Result<Frames> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let kept = Kept::open(&data_dir.join("frames"))?;
        Ok(Frames { media, kept, turns: Arc::new(Semaphore::new(cores)), flights: Mutex::default(), metrics })
    }

    /// What is known of each frame of a choice.
    ///
    /// # Errors
    /// When the video's file is missing or damaged, or the disk refuses.
    pub async fn list(&self, video: &VideoFileRow, choice: Choice) -> Result<Vec<FrameFacts>, FramesError> {
        self.taken(video, choice, kept::list).await
    }

    /// The frame at place `i` of a choice, from 0, with its JPEG.
    ///
    /// # Errors
    /// As [`Frames::list`]; and where the choice has no such place.
    pub async fn jpeg(
        &self,
        video: &VideoFileRow,
        choice: Choice,
        i: u32,
    ) -> Result<(FrameFacts, Vec<u8>), FramesError> {
        self.taken(video, choice, move |folder| kept::jpeg(folder, i)).await
    }

    /// What `read` finds among the kept frames of a choice, which are taken first where it finds nothing.
    async fn taken<T: Send + 'static>(
        &self,
        video: &VideoFileRow,
        choice: Choice,
        read: impl Fn(&Path) -> Option<T> + Clone + Send + 'static,
    ) -> Result<T, FramesError> {
        let folder = self.kept.folder(&video.sha256, choice);
        if let Some(found) = self.find(&folder, &read).await? {
            return Ok(found);
        }
        let flight = self.flight(&folder).lock_owned().await;
        if let Some(found) = self.find(&folder, &read).await? {
            return Ok(found);
        }
        // The semaphore is never closed.
        let turn = Arc::clone(&self.turns).acquire_owned().await.ok();
        let taking = Taking {
            media: self.media.clone(),
            kept: self.kept.clone(),
            video: video.clone(),
            choice,
            place: folder.clone(),
        };
        let sets = self.metrics.frame_sets.clone();
        // Goes on when the request that asked is gone, so that nothing stays half done and the work is not lost.
        let taking = tokio::spawn(async move {
            let _held_till_the_end = (flight, turn);
            let taken = taking.take().await;
            match &taken {
                Ok(outcome) => sets.with_label_values(&[*outcome]).inc(),
                Err(FramesError::Missing) => {}
                Err(_) => sets.with_label_values(&["failed"]).inc(),
            }
            taken
        });
        taking.await??;
        let found = tokio::task::spawn_blocking(move || read(&folder)).await?;
        found.ok_or_else(|| io::Error::other("they cannot be read back").into())
    }

    async fn find<T: Send + 'static>(
        &self,
        folder: &Path,
        read: &(impl Fn(&Path) -> Option<T> + Clone + Send + 'static),
    ) -> Result<Option<T>, FramesError> {
        let (folder, read) = (folder.to_owned(), read.clone());
        let found = tokio::task::spawn_blocking(move || read(&folder)).await?;
        if found.is_some() {
            self.metrics.frame_sets.with_label_values(&["kept"]).inc();
        }
        Ok(found)
    }

    fn flight(&self, folder: &Path) -> Arc<AsyncMutex<()>> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        if flights.len() > SWEEP_ABOVE {
            flights.retain(|_, flight| flight.strong_count() > 0);
        }
        if let Some(flight) = flights.get(folder).and_then(Weak::upgrade) {
            return flight;
        }
        let flight = Arc::default();
        flights.insert(folder.to_owned(), Arc::downgrade(&flight));
        flight
    }
}

/// The frames of a choice on their way to their place.
struct Taking {
    media: Media,
    kept: Kept,
    video: VideoFileRow,
    choice: Choice,
    place: PathBuf,
}

impl Taking {
    /// Takes the frames, or fetches those that another server has taken, and says which.
    async fn take(self) -> Result<&'static str, FramesError> {
        let (sha256, name) = (&self.video.sha256, format!("{}-{}", self.choice.n, self.choice.size));
        let shared = self.media.find_derived(sha256, &name).await?;
        let (pictures, outcome) = match shared.as_deref().and_then(unpack) {
            Some(pictures) => (pictures, "kept"),
            None => {
                let taken = self.sample().await?;
                let parcel = self.media.share_derived(sha256, &name, pack(&taken)?, MAX_CHOICES).await?;
                // Those of a server that was faster, whose FFmpeg may be another one.
                (unpack(&parcel).unwrap_or(taken), "taken")
            }
        };
        tokio::task::spawn_blocking(move || self.kept.put(&self.place, &pictures)).await??;
        Ok(outcome)
    }

    async fn sample(&self) -> Result<Vec<Picture>, FramesError> {
        let (frames, bytes) = (u64::try_from(self.video.frames), u64::try_from(self.video.bytes));
        let (frames, bytes) = (frames.unwrap_or_default(), bytes.unwrap_or_default());
        let kept = self.media.find(&self.video.sha256, bytes).await?.ok_or(FramesError::Missing)?;
        let file = kept.on_disk(&self.kept.unfinished()).await?;
        let (sha256, choice) = (self.video.sha256.clone(), self.choice);
        let sampling = tokio::task::spawn_blocking(move || {
            sample(&file.path, frames, choice.n, choice.size)
                .map_err(|error| FramesError::Video(sha256, error))
        });
        sampling.await?
    }
}
