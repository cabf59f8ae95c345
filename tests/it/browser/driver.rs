//! A real browser: Debian's chromium without a screen, driven by its own WebDriver.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use thirtyfour::prelude::*;

use crate::process::PATIENCE;

const CHROMIUM: &str = "/usr/bin/chromium";
const CHROMEDRIVER: &str = "/usr/bin/chromedriver";

/// A phone and a desktop window, in CSS pixels.
pub const PHONE: (u32, u32) = (375, 812);
pub const DESKTOP: (u32, u32) = (1280, 900);

/// Whether this machine has a browser; says so if not.
#[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
pub fn is_here() -> bool {
    let found = [CHROMIUM, CHROMEDRIVER].iter().all(|program| Path::new(program).exists());
    if !found {
        println!("skipped: there is no {CHROMIUM} with {CHROMEDRIVER}; run `make setup`");
    }
    found
}

/// One browser window with its driver; both end with it.
pub struct Window {
    pub page: WebDriver,
    server: Child,
    /// What the browser leaves behind goes with it.
    _leavings: TempDir,
}

impl Window {
    pub async fn open((width, height): (u32, u32), scripts: bool) -> Window {
        let leavings = TempDir::new().unwrap();
        let mut server = Command::new(CHROMEDRIVER)
            .arg("--port=0")
            .env("TMPDIR", leavings.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let told = lines.map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("started successfully on port ")?;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let mut capabilities = DesiredCapabilities::chrome();
        capabilities.set_binary(CHROMIUM).unwrap();
        // As root chromium has no sandbox; the loopback needs no proxy.
        for argument in [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-proxy-server",
        ] {
            capabilities.add_arg(argument).unwrap();
        }
        let allowed = if scripts { 1 } else { 2 };
        let preferences = json!({ "profile.managed_default_content_settings.javascript": allowed });
        capabilities.add_experimental_option("prefs", preferences).unwrap();
        let page = WebDriver::new(format!("http://127.0.0.1:{}", told.unwrap()), capabilities).await.unwrap();
        let window = Window { page, server, _leavings: leavings };
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        window.tell("Emulation.setDeviceMetricsOverride", size).await;
        window
    }

    async fn tell(&self, command: &str, parameters: Value) -> Value {
        self.page.cdp().send_raw(command, parameters).await.unwrap()
    }

    /// Makes pages look as on a device that is set to `light` or `dark`.
    pub async fn set_scheme(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.tell("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// Keeps a picture of the whole page, where somebody asked for pictures.
    pub async fn keep_picture(&self, name: &str) {
        use base64::Engine as _;
        let Ok(folder) = std::env::var("SECCHI_TEST_PICTURES") else { return };
        let shot = self.tell("Page.captureScreenshot", json!({ "captureBeyondViewport": true })).await;
        let bytes = base64::engine::general_purpose::STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        std::fs::write(Path::new(&folder).join(format!("{name}.png")), bytes).unwrap();
    }

    pub async fn find(&self, css: &str) -> WebElement {
        let found = self.page.query(By::Css(css)).wait(PATIENCE, Duration::from_millis(50)).first().await;
        match found {
            Ok(element) => element,
            Err(error) => panic!("no `{css}` on {}: {error}", self.page.source().await.unwrap()),
        }
    }

    pub async fn click(&self, css: &str) {
        let element = self.find(css).await;
        element.scroll_into_view().await.unwrap();
        element.click().await.unwrap();
    }

    pub async fn write(&self, css: &str, text: &str) {
        self.find(css).await.send_keys(text).await.unwrap();
    }

    pub async fn text(&self) -> String {
        self.find("main").await.text().await.unwrap()
    }

    pub async fn path(&self) -> String {
        self.page.current_url().await.unwrap().path().to_owned()
    }

    /// Waits until the page's text or its path says so, doing `between` from time to time.
    pub async fn until(&self, what: &str, says: impl Fn(&str, &str) -> bool, between: impl AsyncFn()) {
        let begun = Instant::now();
        loop {
            // The page may be changing just now.
            let text = match self.page.find(By::Css("main")).await {
                Ok(main) => main.text().await.unwrap_or_default(),
                Err(_) => String::new(),
            };
            let path = self.path().await;
            if says(&text, &path) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "not yet {what} on {path}: {text}");
            between().await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    pub async fn close(self) {
        self.page.clone().quit().await.unwrap();
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // The browser ends with its driver.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
