//! What Secchi costs, as ratios measured in one run (design 9): `make bench`; `cargo bench -- published` measures the
//! large board alone, `cargo bench -- corrected` the dry run of a correction.
//!
//! The files are the shipped sample scaled to the size of the test split. Servers are processes of their own on
//! loopback; every load is bounded in time.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken bench shall stop")]
#![expect(clippy::print_stdout, reason = "the figures are its result")]

mod board;
mod correcting;
mod frames;
mod judging;
mod load;
mod process;
mod published;
mod scaled;

use std::borrow::Cow;
use std::hint::black_box;
use std::time::{Duration, Instant};

use secchi::evaluation::catalogue::GradingRelease;
use secchi::evaluation::grading::grade;
use secchi::predictions::{Limits, read};
use serde::Deserialize;

use process::{Server, bare_server};
use scaled::Scaled;

const MIB: f64 = 1024.0 * 1024.0;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, mode, body] = arguments.as_slice()
        && mode == "bare-server"
    {
        return process::serve_bare(body);
    }
    if arguments.get(1).is_some_and(|mode| mode == "judge") {
        return judging::serve_judge();
    }
    let scaled = Scaled::new();
    if arguments.iter().any(|argument| argument == "published") {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        return runtime.block_on(published::ten_thousand(&scaled));
    }
    if arguments.iter().any(|argument| argument == "corrected") {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        return runtime.block_on(correcting::dry_run(&scaled));
    }
    println!(
        "{} videos, {} questions; file of {:.2} MB",
        scaled.videos,
        scaled.answers,
        scaled.jsonl.len() as f64 / 1e6
    );
    read_and_grade(&scaled);
    frames::frames_of_clips();
    served(&scaled);
}

/// Reading and grading against a plain typed parse of the same bytes.
fn read_and_grade(scaled: &Scaled) {
    #[derive(Deserialize)]
    struct Record<'a> {
        #[serde(borrow)]
        question_id: Cow<'a, str>,
        #[serde(borrow)]
        answer: Cow<'a, str>,
    }
    let parse = || {
        for line in scaled.jsonl.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let record: Record<'_> = serde_json::from_slice(line).unwrap();
            black_box((&record.question_id, &record.answer));
        }
    };
    let release = GradingRelease::new(scaled.release.clone(), scaled.keyed.clone()).unwrap();
    let limits = Limits { max_bytes: 64 << 20 };
    let work = || {
        let predictions = read(scaled.jsonl.as_slice(), &scaled.index, &limits).unwrap();
        black_box(grade(&release.key, &predictions.answers).outcomes.len());
    };
    let (parse, work) = alternate(parse, work);
    println!(
        "read and grade      {:8.2} ms    plain parse {:.2} ms    ratio {:.2}  (at most 4)",
        milliseconds(work),
        milliseconds(parse),
        work.as_secs_f64() / parse.as_secs_f64()
    );
    // An id of no question in every line.
    let faulty = String::from_utf8(scaled.jsonl.clone()).unwrap().replace("--q", "--x").into_bytes();
    let started = Instant::now();
    let refused = read(faulty.as_slice(), &scaled.index, &limits).is_err();
    println!(
        "all lines faulty    {:8.2} ms  (at most 100; refused: {refused})",
        milliseconds(started.elapsed())
    );
}

/// The best of several runs of each, taken in turn, so that a busy moment hits both.
fn alternate(mut one: impl FnMut(), mut other: impl FnMut()) -> (Duration, Duration) {
    let time = |work: &mut dyn FnMut()| {
        let started = Instant::now();
        work();
        started.elapsed()
    };
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..40 {
        best = (best.0.min(time(&mut one)), best.1.min(time(&mut other)));
    }
    best
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// What a server of its own process does.
fn served(scaled: &Scaled) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        rebuilt_boards(scaled).await;
        published::ten_thousand(scaled).await;
        correcting::dry_run(scaled).await;
        judging::judge_whole_file(scaled).await;
        let server = Server::start(scaled).await;
        println!("memory idle         {:8.1} MiB  (below 60)", server.resident("VmRSS") / MIB);
        server.submit(scaled.jsonl.clone()).await;
        server.wait_until_scored().await;
        println!("memory peak         {:8.1} MiB  one full run (below 300)", server.resident("VmHWM") / MIB);
        board_requests(&server).await;
        accepted_files(&server, scaled).await;
        println!(
            "memory peak         {:8.1} MiB  with all of these uploads (below 300)",
            server.resident("VmHWM") / MIB
        );
    });
}

/// The board rebuilt from the ledger after a change.
async fn rebuilt_boards(scaled: &Scaled) {
    for (entries, promise) in [(10, ""), (10_000, "  (at most 200)")] {
        let folder = tempfile::TempDir::new().unwrap();
        let store = board::ledger_of(entries, scaled, folder.path()).await;
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let started = Instant::now();
            black_box(board::rebuild(&store).await);
            best = best.min(started.elapsed());
        }
        println!("board rebuilt       {:8.2} ms    {entries} entries{promise}", milliseconds(best));
    }
}

/// Full files accepted a second by 16 clients at once.
async fn accepted_files(server: &Server, scaled: &Scaled) {
    let window = Duration::from_secs(5);
    let started = Instant::now();
    let clients = (0..16).map(|_| async {
        let mut accepted = 0_u32;
        while started.elapsed() < window {
            server.submit(scaled.jsonl.clone()).await;
            accepted += 1;
        }
        accepted
    });
    let accepted: u32 = futures::future::join_all(clients).await.into_iter().sum();
    let rate = f64::from(accepted) / started.elapsed().as_secs_f64();
    println!("files accepted      {rate:8.1} a second, 16 clients  (at least 100)");
}

/// Board requests a second against a bare handler that sends the same bytes.
async fn board_requests(server: &Server) {
    let board = server.board().await;
    let bare = bare_server(&board);
    let (mut best_board, mut best_bare) = (0.0_f64, 0.0_f64);
    for _ in 0..3 {
        best_bare = best_bare.max(load::requests_per_second(&bare.address, "/", "").await);
        best_board =
            best_board.max(load::requests_per_second(&server.address, "/api/v1/leaderboard", "").await);
    }
    println!(
        "board requests      {best_board:8.0} a second    bare handler {best_bare:.0}    ratio {:.2}  (at least 0.8; {} bytes)",
        best_board / best_bare,
        board.len()
    );
    let known = format!("If-None-Match: {}\r\n", server.board_etag().await);
    let mut unchanged = 0.0_f64;
    for _ in 0..3 {
        let path = "/api/v1/leaderboard";
        unchanged = unchanged.max(load::requests_per_second(&server.address, path, &known).await);
    }
    println!("board not changed   {unchanged:8.0} a second    ratio {:.2}", unchanged / best_bare);
}
