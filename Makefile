# Every target does its own set-up, so that each works from a clean clone.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup build demo test check check-harnesses check-latex check-s3 check-statistics bench soak wheel

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what Debian must provide, where it is missing (root or sudo)
	@.ci/setup

build: ## Build target/debug/secchi
	@.ci/setup build
	cargo build --locked

demo: ## Serve a board with scored, synthetic submissions until Ctrl-C
	@.ci/demo

test: ## Everything that must hold: check, then all tests on both back ends
	@.ci/test

check: ## Format, lints with all features and without the server, documentation
	@.ci/setup build
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --all-targets --features s3,otlp,smtp -- -D warnings
	cargo clippy --locked --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps

check-harnesses: ## Have the real lmms-eval and VLMEvalKit run an exported task, and score what they write (15 GB of packages)
	@.ci/check-harnesses

check-latex: ## Compile the LaTeX of real boards and draw its pages (texlive)
	@.ci/setup
	@.ci/check-latex

check-s3: ## Keep videos and frames in a bucket, on both back ends (moto stands in for S3)
	@.ci/setup
	@.ci/check-s3

check-statistics: ## Hold the intervals and tests against scipy, statsmodels and numpy
	@.ci/setup build
	@.ci/check-statistics

bench: ## Measure: costs as ratios within one run
	@.ci/setup
	.ci/with-services cargo bench --locked

soak: ## The whole test split against the simulated judge of the shared material: limits, faults, kills (long)
	@.ci/setup
	cargo test --locked --release --test it soak -- --ignored --nocapture --test-threads 1
	.ci/with-services cargo test --locked --release --test it soak -- --ignored --nocapture --test-threads 1

wheel: ## Pack the teams' client as a Python wheel (optimised: long)
	@.ci/wheel
