//! Connections that outlive a request, and a rolling restart under load: two servers and two workers on PostgreSQL and Redis
//! are replaced one after the other, and whoever uses them notices nothing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use reqwest::multipart::{Form, Part};
use secchi::domain::question::Split;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::process::{Process, until};
use crate::stand_in::StandIn;
use crate::support::{Ground, Options, Secchi, metadata, sample_bytes};

/// How long a server serves on without being ready. At its end it closes idle connections at once, perhaps while a request is
/// on its way: longer than clients keep them.
const DRAIN_S: u64 = 6;

/// How long clients keep an idle connection.
const KEEP_IDLE: Duration = Duration::from_secs(3);

/// How often the proxy asks whether a server is ready; well below [`DRAIN_S`].
const ASK_EVERY: Duration = Duration::from_millis(100);

/// How long a slow upload takes: longer than a server drains.
const SLOW_UPLOAD: Duration = Duration::from_secs(8);

/// A server behind the proxy.
struct Backend {
    address: String,
    is_ready: AtomicBool,
}

/// A proxy that can do little: new connections go in turn to the servers whose `/readyz` was 200 when it was answered last,
/// and wait for one. One that is refused is not tried elsewhere, and what is sent over them is none of its business.
struct Proxy {
    base: String,
    backends: Arc<Vec<Backend>>,
}

impl Proxy {
    async fn before(addresses: [&str; 2]) -> Proxy {
        let backend =
            |address: &str| Backend { address: address.to_owned(), is_ready: AtomicBool::new(false) };
        let backends = Arc::new(addresses.map(backend).into_iter().collect::<Vec<_>>());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        (0..2).for_each(|place| drop(tokio::spawn(ask(backends.clone(), place))));
        tokio::spawn(lead(listener, backends.clone()));
        Proxy { base, backends }
    }

    async fn until_ready(&self) {
        let all = async || self.backends.iter().all(|backend| backend.is_ready.load(Ordering::SeqCst));
        until("readiness", all).await;
    }
}

/// Keeps itself told whether a server is ready; one that takes its time has said nothing.
async fn ask(backends: Arc<Vec<Backend>>, place: usize) {
    let client = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
    let backend = &backends[place];
    loop {
        let answer = client.get(format!("http://{}/readyz", backend.address)).send().await;
        let is_ready = answer.is_ok_and(|answer| answer.status() == 200);
        backend.is_ready.store(is_ready, Ordering::SeqCst);
        tokio::time::sleep(ASK_EVERY).await;
    }
}

async fn lead(listener: TcpListener, backends: Arc<Vec<Backend>>) {
    for turn in 0.. {
        let (mut client, _) = listener.accept().await.unwrap();
        let backends = backends.clone();
        tokio::spawn(async move {
            let is_ready = |place: &usize| backends[place % 2].is_ready.load(Ordering::SeqCst);
            let place = loop {
                match [turn, turn + 1].into_iter().find(is_ready) {
                    Some(place) => break place % 2,
                    None => tokio::time::sleep(ASK_EVERY).await,
                }
            };
            if let Ok(mut server) = TcpStream::connect(&backends[place].address).await {
                // An error is the client's or the server's, who notice themselves.
                let _ended = copy_bidirectional(&mut client, &mut server).await;
            }
        });
    }
}

/// What the load has come to.
#[derive(Default)]
struct Tally {
    requests: AtomicUsize,
    /// Streams that a stop ended and that were taken up again.
    resumed: AtomicUsize,
    failures: Mutex<Vec<String>>,
    accepted: Mutex<Vec<String>>,
}

impl Tally {
    /// Counts a request, and gives the body of one that was answered as it should.
    async fn count(&self, request: reqwest::RequestBuilder, status: u16) -> Option<Bytes> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let result = async {
            let answer = request.send().await.map_err(|error| format!("{error:?}"))?;
            let (url, found) = (answer.url().clone(), answer.status().as_u16());
            let body = answer.bytes().await.map_err(|error| format!("{url}: {error:?}"))?;
            if found == status { Ok(body) } else { Err(format!("{url}: {found} {body:?}")) }
        };
        result.await.map_err(|failure: String| self.fail(failure)).ok()
    }

    fn fail(&self, failure: String) {
        self.failures.lock().unwrap().push(failure);
    }
}

/// Somebody who uses the servers by way of the proxy.
#[derive(Clone)]
struct User {
    client: reqwest::Client,
    base: String,
    key: String,
    tally: Arc<Tally>,
    stop: Arc<AtomicBool>,
    /// Submissions that are followed at once: a key may follow 16.
    follows: Arc<Semaphore>,
}

impl User {
    fn new(base: &str, key: &str) -> User {
        let client = reqwest::Client::builder().pool_idle_timeout(KEEP_IDLE).build().unwrap();
        User {
            client,
            base: base.to_owned(),
            key: key.to_owned(),
            tally: Arc::default(),
            stop: Arc::default(),
            follows: Arc::new(Semaphore::new(8)),
        }
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::SeqCst)
    }

    /// Waits until so many more requests were made and submissions accepted, however fast this machine is.
    async fn until_more(&self, requests: usize, submissions: usize) {
        let made = || (self.tally.requests.load(Ordering::SeqCst), self.tally.accepted.lock().unwrap().len());
        let before = made();
        until("load", async || {
            let now = made();
            now.0 >= before.0 + requests && now.1 >= before.1 + submissions
        })
        .await;
    }

    async fn read(self) {
        while self.goes_on() {
            for path in ["/api/v1/leaderboard", "/", "/api/v1/me", "/api/v1/submissions"] {
                let request = self.client.get(format!("{}{path}", self.base)).bearer_auth(&self.key);
                self.tally.count(request, 200).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Submits again and again, each time as another model and in so many parts over so long a time.
    async fn submit(self, name: &str, pause: Duration, takes: Duration) {
        for number in 0.. {
            if !self.goes_on() {
                return;
            }
            let file = answers_of(&format!("{name} {number}"));
            let parts: Vec<Bytes> =
                file.chunks(file.len().div_ceil(10)).map(Bytes::copy_from_slice).collect();
            let step = takes / 10;
            let trickle = futures::stream::iter(parts.clone()).then(move |part| async move {
                tokio::time::sleep(step).await;
                Ok::<_, std::io::Error>(part)
            });
            let mut metadata = metadata(&format!("{name} {number}"));
            metadata["visibility"] = "private".into();
            let predictions = Part::stream(reqwest::Body::wrap_stream(trickle)).file_name("predictions");
            let form = Form::new().text("metadata", metadata.to_string()).part("predictions", predictions);
            let request = self.client.post(format!("{}/api/v1/submissions", self.base));
            if let Some(body) = self.tally.count(request.bearer_auth(&self.key).multipart(form), 202).await {
                let accepted: Value = serde_json::from_slice(&body).unwrap();
                let id = accepted["id"].as_str().unwrap().to_owned();
                self.tally.accepted.lock().unwrap().push(id.clone());
                if let Ok(turn) = self.follows.clone().try_acquire_owned() {
                    tokio::spawn(self.clone().follow(id, turn));
                }
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Follows a submission to its end; a stream that ends before is taken up where it ended.
    async fn follow(self, id: String, _turn: OwnedSemaphorePermit) {
        let mut last_id = String::new();
        loop {
            let request = self.client.get(format!("{}/api/v1/submissions/{id}/events", self.base));
            let request = request.bearer_auth(&self.key).header("last-event-id", &last_id);
            let Some(body) = self.tally.count(request, 200).await else { return };
            let told = String::from_utf8(body.to_vec()).unwrap();
            if told.contains("event: end\n") {
                return;
            }
            self.tally.resumed.fetch_add(1, Ordering::SeqCst);
            // As long as the stream's `retry` says.
            tokio::time::sleep(Duration::from_secs(2)).await;
            let mut ids = told.lines().filter_map(|line| line.strip_prefix("id: "));
            last_id = ids.next_back().map_or(last_id, str::to_owned);
        }
    }
}

/// A file whose long answers nobody else has given, so that the judge is asked about each.
fn answers_of(name: &str) -> Vec<u8> {
    let file = String::from_utf8(sample_bytes("predictions/strong_model.jsonl")).unwrap();
    let lines = file.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        let answer = record["answer"].as_str().unwrap();
        if answer.len() > 40 {
            record["answer"] = format!("{answer} Seen by {name}.").into();
        }
        format!("{record}\n")
    });
    lines.collect::<String>().into_bytes()
}

/// A free address, which a process can be started at again: of a port that no outgoing connection is given meanwhile.
fn free_address() -> String {
    let any = || 16_384 + uuid::Uuid::now_v7().as_u128() % 16_384;
    let addresses = std::iter::repeat_with(|| format!("127.0.0.1:{}", any()));
    addresses.take(1_000).find(|address| std::net::TcpListener::bind(address).is_ok()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_and_workers_are_replaced_under_load_without_a_failed_request_or_a_lost_submission() {
    let ground = Ground::new();
    if !ground.is_shared() {
        return;
    }
    // So slow that there is something to follow when a server stops.
    let judge = StandIn::start(200).await;
    let options =
        Options { judge: judge.flags(8), clock: Some(secchi::clock::Clock::System), ..Options::default() };
    let secchi = Secchi::on(ground, options).await;
    secchi.import(Split::Test, "test.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    let ground = secchi.stop().await;
    let other = ground.shared();

    let quota = ["--quota-per-day", "100000", "--quota-total", "100000", "--drain-s"].map(str::to_owned);
    let flags = [judge.flags(8), quota.to_vec(), vec![DRAIN_S.to_string()]].concat();
    let places = [(&ground, free_address(), free_address()), (&other, free_address(), free_address())];
    let serve = |place: usize| {
        let (ground, address, metrics) = &places[place];
        Process::serve_at(ground, address, metrics, &flags)
    };
    let mut servers = [serve(0), serve(1)];
    let worker_places = [free_address(), free_address()];
    let work = |place: usize| Process::worker(&ground, &worker_places[place], &judge.flags(8));
    let mut workers = [work(0), work(1)];
    let proxy = Proxy::before([&places[0].1, &places[1].1]).await;
    proxy.until_ready().await;

    let user = User::new(&proxy.base, &team.key);
    let mut load: Vec<_> = (0..3).map(|_| tokio::spawn(user.clone().read())).collect();
    load.push(tokio::spawn(user.clone().submit("quick", Duration::from_secs(1), Duration::ZERO)));
    load.extend((0..3).map(|number| {
        let user = user.clone();
        let slow = async move { user.submit(&format!("slow {number}"), Duration::ZERO, SLOW_UPLOAD).await };
        tokio::spawn(slow)
    }));
    user.until_more(170, 7).await;
    for place in 0..2 {
        let (status, took) = servers[place].terminate().await;
        assert!(status.success(), "{}", servers[place].log());
        assert!(took >= Duration::from_secs(DRAIN_S), "it did not drain: {took:?}");
        servers[place] = serve(place);
        proxy.until_ready().await;
        let (status, _) = workers[place].terminate().await;
        assert!(status.success(), "{}", workers[place].log());
        workers[place] = work(place);
        user.until_more(170, 7).await;
    }
    user.stop.store(true, Ordering::SeqCst);
    judge.set_latency_ms(0);
    for task in load {
        task.await.unwrap();
    }
    let tally = &user.tally;
    let accepted = tally.accepted.lock().unwrap().clone();
    for id in &accepted {
        let submission = servers[0].ended(&team, id).await;
        assert_eq!(submission["state"], "scored", "{submission}");
    }
    let requests = tally.requests.load(Ordering::SeqCst);
    let resumed = tally.resumed.load(Ordering::SeqCst);
    eprintln!("{requests} requests, {} submissions, {resumed} streams resumed", accepted.len());
    let failures = tally.failures.lock().unwrap().clone();
    assert!(
        failures.is_empty(),
        "{} of {requests} failed: {:#?}",
        failures.len(),
        &failures[..failures.len().min(5)]
    );
    assert!(resumed > 0, "no stream was ended by a stop");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_about_to_stop_says_so_serves_on_and_finishes_what_is_under_way() {
    let secchi =
        Secchi::with(Options { clock: Some(secchi::clock::Clock::System), ..Options::default() }).await;
    secchi.import(Split::Test, "test.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    let ground = secchi.stop().await;
    let mut server = Process::serve_with(&ground, &[("SECCHI_DRAIN_S", "2")]);
    let base = server.base.clone();
    let user = User::new(&base, &team.key);
    // Under way longer than a server without others waits for.
    let upload = tokio::spawn(user.clone().submit("slow", Duration::ZERO, Duration::from_secs(11)));
    tokio::time::sleep(Duration::from_millis(500)).await;
    user.stop.store(true, Ordering::SeqCst);
    let get = async |path: &str| user.client.get(format!("{base}{path}")).send().await.unwrap();
    assert_eq!(get("/readyz").await.status(), 200);
    let draining = async {
        until("the word", async || get("/readyz").await.status() == 503).await;
        let told: Value = get("/readyz").await.json().await.unwrap();
        assert_eq!((&told["stopping"], &told["database"]), (&true.into(), &true.into()));
        let board = get("/api/v1/leaderboard").await;
        assert_eq!(
            (board.status().as_u16(), board.headers()["connection"].to_str().unwrap()),
            (200, "close")
        );
        assert_eq!(get("/healthz").await.status(), 200);
    };
    let ((status, took), ()) = tokio::join!(server.terminate(), draining);
    upload.await.unwrap();
    assert!(status.success() && took > Duration::from_secs(9), "{took:?}: {}", server.log());
    let failures = user.tally.failures.lock().unwrap().clone();
    // Who follows it finds nobody any more, since there is no other server here.
    assert!(failures.iter().all(|failure| failure.contains("/events")), "{failures:?}");
    assert_eq!(user.tally.accepted.lock().unwrap().len(), 1);
    assert!(!server.log().contains("request failed"), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_used_again_after_a_while() {
    let secchi = Secchi::start().await;
    let mut connection = TcpStream::connect(secchi.base.trim_start_matches("http://")).await.unwrap();
    // Longer than actix-web keeps an idle one unless told otherwise.
    for wait in [Duration::ZERO, Duration::from_secs(7)] {
        tokio::time::sleep(wait).await;
        connection.write_all(b"GET /healthz HTTP/1.1\r\nhost: secchi\r\n\r\n").await.unwrap();
        let mut status = [0; 12];
        connection.read_exact(&mut status).await.unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
        let mut answer = Vec::new();
        while !answer.ends_with(b"ok\n") {
            assert!(connection.read_buf(&mut answer).await.unwrap() > 0, "closed in an answer");
        }
    }
}
