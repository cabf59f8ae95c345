FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY .ci/setup .ci/setup
RUN .ci/setup build
COPY . .
# Several servers share their videos in a bucket.
RUN cargo build --locked --profile dist --features s3

FROM debian:12-slim
# What the binary links beside libc: libpq and FFmpeg's libraries. The certificates are for the judge's endpoint
# and for a bucket's.
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates libavcodec59 libavfilter8 libavformat59 libavutil57 libpq5 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data --create-home secchi \
    && chmod 700 /data \
    && install -d -o secchi -m 700 /media
COPY --from=build /src/target/dist/secchi /usr/local/bin/secchi
COPY LICENSE /usr/share/doc/secchi/LICENSE

# A board of thousands of entries is built on many threads, each of which would keep a pool of memory of its own, and of
# large pieces, which shall go back when they are done with.
ENV MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=262144 MALLOC_TRIM_THRESHOLD_=262144
# Inside a container only published ports can be reached. 9464 tells what the judge costs: do not publish it to the world.
ENV SECCHI_LISTEN=0.0.0.0:8080 \
    SECCHI_METRICS_LISTEN=0.0.0.0:9464 \
    SECCHI_DATABASE_URL=sqlite:///data/secchi.db \
    SECCHI_DATA_DIR=/data
USER secchi
WORKDIR /data
VOLUME /data
EXPOSE 8080 9464
# The image has no HTTP client; bash can speak enough of it.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /readyz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
ENTRYPOINT ["secchi"]
CMD ["serve"]
