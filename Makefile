# The front door. Each target is a script in tools/, so that it can be read and run by itself.
.PHONY: help demo test test-full bench cluster install build image clean

help:
	@echo 'make demo       install, upgrade and uninstall packages on a real control plane on this machine'
	@echo 'make test       every test that CI runs on each change'
	@echo 'make test-full  the slow sweeps too'
	@echo 'make bench      measure beside helm and kubectl (15 minutes; BENCH="1000 mix@20": only these)'
	@echo 'make cluster    start the control plane and print its kubeconfig'
	@echo 'make install    build for release and install below PREFIX (default /usr/local)'
	@echo 'make image      build the container images of the operator and the catalog, OCI archives, into build/'
	@echo 'make build      build for release, into build/release'

demo:
	@tools/demo.sh
test:
	@tools/test.sh
test-full:
	@tools/test.sh --full
bench:
	@tools/bench.sh $(BENCH)
cluster:
	@tools/prerequisites.sh
	@"$$(devcluster/build.sh)" up
build:
	@tools/prerequisites.sh
	@tools/build.sh release -DMIST_ENGINES=all mistctl mistletoe-operator mistletoe-catalog
	@tools/check-hardening.sh build/release/bin/mistctl --release
	@tools/check-hardening.sh build/release/bin/mistletoe-operator --release
	@tools/check-hardening.sh build/release/bin/mistletoe-catalog --release
install:
	@tools/prerequisites.sh
	@tools/build.sh release -DMIST_ENGINES=all mistctl mistletoe-operator mistletoe-catalog manual_pages
	@tools/check-hardening.sh build/release/bin/mistctl --release
	@tools/check-hardening.sh build/release/bin/mistletoe-operator --release
	@tools/check-hardening.sh build/release/bin/mistletoe-catalog --release
	@cmake --install build/release --prefix "$(or $(PREFIX),/usr/local)"
image:
	@tools/image.sh operator
	@tools/image.sh catalog --prefix build/image
clean:
	rm -rf build
