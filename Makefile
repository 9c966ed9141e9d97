# The front door: every target does all its set-up on a fresh Debian 12 machine.
.PHONY: setup program build test demo bench-peers format clean

setup:
	@tools/install_packages.sh

program: setup
	@test -f build/build.ninja || cmake --preset release
	@cmake --build --preset release --target vitrine_program

build: program
	@cmake --build --preset release

test: build
	ctest --test-dir build -LE slow --output-on-failure -j2

demo: program
	@tools/demo.sh

bench-peers: program
	@bench/peers/compare.sh

format:
	@clang-format -i $$(git ls-files '*.h' '*.cpp')

clean:
	rm -rf build
