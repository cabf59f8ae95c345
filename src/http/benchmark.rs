//! What the benchmark is made of, and which releases are active.

use actix_web::{get, web};
use serde::Serialize;
use std::collections::BTreeMap;

use super::Shared;
use super::error::{Answer, Problem};
use crate::domain::column::{Column, dimension};
use crate::domain::question::{QuestionFormat, QuestionType, Split};
use crate::domain::submission::Feedback;
use crate::evaluation::standing::{ColumnHead, JudgeHead, column_head};
use crate::store::configurations::find_current_configuration;
use crate::store::releases::{Release, load_counts, load_releases};
use crate::store::{DbConnection, StoreError};

/// The benchmark as this server holds it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Benchmark {
    /// The benchmark's name.
    name: &'static str,
    /// The splits that have an active release.
    splits: Vec<SplitFacts>,
    /// What questions ask about.
    question_types: Vec<TypeFacts>,
    /// The leaderboard's columns, in order.
    columns: Vec<ColumnHead>,
    /// The judge configuration behind open-ended scores; null before the first start.
    judge: Option<JudgeHead>,
}

/// The active release of a split.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SplitFacts {
    /// The split.
    split: Split,
    /// The release's name.
    release: String,
    /// SHA-256 of the imported content, in hex.
    sha256: String,
    /// What a team may read about its single answers.
    feedback: Feedback,
    /// Videos.
    videos: i64,
    /// Questions.
    questions: i64,
    /// Questions by type.
    #[schema(value_type = BTreeMap<String, i64>)]
    types: BTreeMap<QuestionType, i64>,
}

/// A question type and the dimension that it measures.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TypeFacts {
    /// The type.
    r#type: QuestionType,
    /// How it is answered.
    format: QuestionFormat,
    /// The dimension, as in the paper.
    dimension: &'static str,
}

/// Describes the benchmark and its active releases
#[utoipa::path(
    tag = "board",
    responses(
        (status = 200, description = "The benchmark", body = Benchmark),
        (status = 503, description = "The database is not to be reached", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/benchmark")]
pub async fn find_benchmark(state: Shared) -> Answer<web::Json<Benchmark>> {
    let benchmark: Result<Benchmark, StoreError> = state.evaluation.store.snapshot(benchmark).await;
    Ok(web::Json(benchmark?))
}

fn benchmark(connection: &mut DbConnection) -> Result<Benchmark, StoreError> {
    let releases = load_releases(connection)?;
    // Of train only the ids are held, to name a wrong file.
    let active = releases.into_iter().filter(|release| release.active && release.split != Split::Train);
    let splits: Result<Vec<_>, _> = active.map(|release| split_facts(connection, release)).collect();
    let types = QuestionType::ALL.iter();
    Ok(Benchmark {
        name: "MarineLife-16K",
        splits: splits?,
        question_types: types
            .map(|kind| TypeFacts { r#type: *kind, format: kind.format(), dimension: dimension(*kind) })
            .collect(),
        columns: Column::ALL.iter().map(|column| column_head(*column)).collect(),
        judge: find_current_configuration(connection)?.map(JudgeHead::from),
    })
}

fn split_facts(connection: &mut DbConnection, release: Release) -> Result<SplitFacts, StoreError> {
    let (videos, types) = load_counts(connection, &release.id)?;
    Ok(SplitFacts {
        split: release.split,
        release: release.name,
        sha256: release.content_sha256,
        feedback: release.feedback,
        videos,
        questions: types.iter().map(|(_, count)| count).sum(),
        types: types.into_iter().collect(),
    })
}
