//! The lines of a refused file that its faults are about, for the page that shows them side by side. Keeps nothing.

use std::io::Read;

use crate::domain::fault::Fault;
use crate::predictions::{self, Limits};
use crate::store::StoreError;

use super::Evaluation;

/// The text beside each fault, where the fault names a line that can be shown. Reads the file once more.
///
/// # Errors
/// When the thread that reads dies.
pub async fn excerpts<R>(
    evaluation: &Evaluation,
    team_id: &str,
    file: R,
    faults: &[Fault],
) -> Result<Vec<Option<String>>, StoreError>
where
    R: Read + Send + 'static,
{
    let mut order: Vec<usize> = (0..faults.len()).filter(|place| faults[*place].line.is_some()).collect();
    let place = |index: &usize| (faults[*index].line.unwrap_or(1), faults[*index].column.unwrap_or(1));
    order.sort_by_key(place);
    let places: Vec<(u64, u64)> = order.iter().map(place).collect();
    let limits = Limits { max_bytes: evaluation.max_upload_bytes };
    let turn = evaluation.reading_turns.take(team_id).await.ok();
    let reading = move || {
        let _until_it_is_read = turn;
        predictions::excerpts(file, &limits, &places)
    };
    let read = tokio::task::spawn_blocking(reading).await?;
    let mut shown = vec![None; faults.len()];
    for (index, text) in order.into_iter().zip(read) {
        shown[index] = text;
    }
    Ok(shown)
}
