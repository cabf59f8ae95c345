//! From SVG to PNG, with type that comes along. Knows nothing of what is drawn.

use std::sync::{Arc, LazyLock};

use maud::Markup;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};

pub(super) const WIDTH: u32 = 1200;
pub(super) const HEIGHT: u32 = 630;

const FAMILY: &str = "DejaVu Sans";

static TYPE: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut database = Database::new();
    database.load_font_data(dejavu::sans::regular().to_vec());
    database.load_font_data(dejavu::sans::bold().to_vec());
    Arc::new(database)
});

/// A drawing as PNG; empty if it is no SVG, which a drawing of ours always is.
pub(super) fn png(drawing: &Markup) -> Vec<u8> {
    let options = Options { fontdb: TYPE.clone(), font_family: FAMILY.to_owned(), ..Options::default() };
    let tree = Tree::from_str(&drawing.0, &options);
    let drawn = tree.ok().zip(Pixmap::new(WIDTH, HEIGHT)).and_then(|(tree, mut pixmap)| {
        resvg::render(&tree, Transform::identity(), &mut pixmap.as_mut());
        pixmap.encode_png().ok()
    });
    if drawn.is_none() {
        tracing::error!("a picture to share could not be drawn");
    }
    drawn.unwrap_or_default()
}
