//! Traces: spans of requests, slices of work and calls to the judge, sent to an OpenTelemetry collector. What leaves is
//! made of the spans' own fields alone: log lines, which may name questions, stay here.

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use super::SPANS;

/// Sends spans in batches; what is left goes when it is dropped.
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Sends to where the variables `OTEL_EXPORTER_OTLP_…` say.
    ///
    /// # Errors
    /// Why nothing can be sent there, in words.
    pub(super) fn start() -> Result<Traces, String> {
        let exporter = SpanExporter::builder().with_http().build().map_err(|error| error.to_string())?;
        let resource = Resource::builder().with_service_name("secchi").build();
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource);
        Ok(Traces(provider.build()))
    }

    /// What hands the spans, and nothing else, on.
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    {
        let spans = tracing_opentelemetry::layer().with_tracer(self.0.tracer("secchi"));
        let spans = spans.with_location(false).with_threads(false).with_target(false);
        // A span that is activated keeps its name, and a request's is known only when it has found its route.
        let spans = spans.with_tracked_inactivity(false).with_context_activation(false);
        spans.with_filter(Targets::new().with_target(SPANS, LevelFilter::INFO))
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        // A collector that is not there has been logged already.
        let _sent = self.0.shutdown();
    }
}
