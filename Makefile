# The front door: every target does all its set-up on a fresh Debian 12 or 13 machine.
.PHONY: setup setup-tests program build test package fuzz fuzz-server chaos soak check web demo serve-demo bench-peers bench-serve \
        format clean

setup:
	@tools/install_packages.sh

# What the tests need beyond that: a browser.
setup-tests: setup
	@tools/install_packages.sh packages-test.txt || echo "no browser: the test 'web' will be skipped"

program: setup
	@test -f build/build.ninja || cmake --preset release
	@cmake --build --preset release --target vitrine_program

build: setup-tests program
	@cmake --build --preset release

test: build
	ctest --test-dir build -LE slow --output-on-failure -j2

# A .deb and a tarball in build/packages, the first checked by lintian.
package: program
	@tools/install_packages.sh packages-package.txt
	@tools/package.sh

# Hostile input by the million: see docs/reliability.md. FUZZ_RUNS=N inputs per parser.
fuzz: setup
	@tools/install_packages.sh packages-fuzz.txt
	@tools/fuzz.sh

# Kills, full disks and the like: see docs/reliability.md. KILLS=N kills in all, SEED=N repeats their moments.
chaos: program
	@tools/chaos.sh

# An hour of training and serving whose memory must stay flat. MINUTES=N
soak: program
	@tools/soak.sh $(MINUTES)

# Sanitizers over the tests, clang-tidy and cppcheck; an hour and more.
check: setup-tests
	@tools/install_packages.sh packages-check.txt
	@tools/check.sh

# N requests to a whole server: see docs/reliability.md.
N ?= 100000
fuzz-server: program
	@cmake --build --preset release --target fuzz_server
	@build/tests/serve/fuzz_server $(N)

web: setup
	@cd web && npm ci && npm run build

demo: program
	@tools/demo.sh

serve-demo: program
	@tools/serve_demo.sh

bench-peers: program
	@/usr/bin/python3 bench/peers/compare.py $(if $(FAMILIES),--families)

# The server under load: see docs/serving.md. LOAD="--photos FOLDER ..." gives options.
bench-serve: program
	@cmake --build --preset release --target serve_load
	@build/bench/serve_load $(LOAD)

format:
	@clang-format -i $$(git ls-files '*.h' '*.cpp')

clean:
	rm -rf build
