//! The files that pages load: a style sheet and small scripts. Each has an address for its content, so that a browser
//! keeps it for good.

use std::sync::LazyLock;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, guard, web};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// One file.
pub(super) struct Asset {
    path: &'static str,
    media: &'static str,
    text: &'static str,
    /// A hash of the text.
    version: LazyLock<String>,
}

macro_rules! asset {
    ($name:ident, $path:literal, $media:literal, $text:expr) => {
        pub(super) static $name: Asset = Asset {
            path: $path,
            media: $media,
            text: $text,
            version: LazyLock::new(|| hex::encode(&Sha256::digest($text)[..8])),
        };
    };
}

asset!(
    STYLE,
    "/assets/style.css",
    "text/css; charset=utf-8",
    concat!(
        include_str!("assets/style/palette.css"),
        include_str!("assets/style/base.css"),
        include_str!("assets/style/forms.css"),
        include_str!("assets/style/tables.css"),
        include_str!("assets/style/board.css"),
        include_str!("assets/style/compare.css"),
        include_str!("assets/style/charts.css"),
        include_str!("assets/style/entry.css"),
        include_str!("assets/style/admin.css"),
        include_str!("assets/style/print.css"),
    )
);
asset!(BOARD, "/assets/board.js", "text/javascript; charset=utf-8", include_str!("assets/board.js"));
asset!(SUBMIT, "/assets/submit.js", "text/javascript; charset=utf-8", include_str!("assets/submit.js"));
asset!(PROGRESS, "/assets/progress.js", "text/javascript; charset=utf-8", include_str!("assets/progress.js"));

/// Which version of a file is asked for.
#[derive(Deserialize)]
struct Version {
    v: Option<String>,
}

/// The address of a file as it is now.
pub(super) fn address(asset: &Asset) -> String {
    format!("{}?v={}", asset.path, *asset.version)
}

pub(super) fn routes(config: &mut web::ServiceConfig) {
    for asset in [&STYLE, &BOARD, &SUBMIT, &PROGRESS] {
        let find = move |request: HttpRequest, version: web::Query<Version>| async move {
            sent(asset, &request, version.v.as_deref())
        };
        config.service(web::resource(asset.path).guard(guard::Get()).to(find));
    }
}

fn sent(asset: &Asset, request: &HttpRequest, version: Option<&str>) -> HttpResponse {
    let etag = format!("W/\"{}\"", *asset.version);
    let known = request.headers().get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let unchanged = known.is_some_and(|known| known.split(',').any(|tag| tag.trim() == etag));
    let lasting = version == Some(asset.version.as_str());
    let mut response = if unchanged { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    let keep = if lasting { "public, max-age=31536000, immutable" } else { "no-cache" };
    response.insert_header((header::ETAG, etag)).insert_header((header::CACHE_CONTROL, keep));
    if unchanged { response.finish() } else { response.content_type(asset.media).body(asset.text) }
}
