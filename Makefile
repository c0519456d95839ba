# Everything happens in .venv, made from nothing: Python >= 3.10, a C++20 compiler and PyPI are enough.
PYTHON ?= python3
PYTEST_ARGS ?=
# A worker for each core. Tests of one file run in one process, one after the other: they share what is slow to make.
PYTEST = .venv/bin/python -m pytest -n auto --maxprocesses 8 --dist loadfile

# Directories are listed too: a deleted file changes the time of its directory.
SOURCES := pyproject.toml CMakeLists.txt $(wildcard build/npm/sparsecrf.wasm) \
	$(shell find cpp src -not -name __pycache__ -not -name '*.pyc' 2>/dev/null)
CPP_FILES = $(shell find cpp -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.inl')

.PHONY: demo test test-fast coverage golden golden-record test-browser test-spacy chromium wasm check-32bit lint docs bench bench-micro bench-peers bench-training bench-labelling \
	bench-estimator bench-serving experiments experiments-pages sanitize sanitize-thread torture wheels test-matrix format clean
.DELETE_ON_ERROR:

# From nothing within two minutes on two cores, so with fewer words than the program takes by default.
demo: .venv/package
	.venv/bin/sparsecrf demo --words 4000 -o build/demo

test: .venv/installed
	$(PYTEST) $(PYTEST_ARGS)

# A test or more of every folder, within a minute on two cores.
test-fast: .venv/installed
	$(PYTEST) -m "not slow" $(PYTEST_ARGS)

# Lines and branches of src/sparsecrf that the quick tests run, and the floor below which this fails (92 % when it was
# set). Not in .ci/run: up to Python 3.13, measuring makes the tests take two thirds longer.
coverage: .venv/installed .venv/coverage
	$(PYTEST) -m "not slow" --cov=sparsecrf --cov-branch --cov-report=term:skip-covered --cov-fail-under=90 $(PYTEST_ARGS)

# Whether results are those of tests/golden/digests.json, bit for bit: training, inference, files, the program, the C
# library. `make golden-record` writes that file, where a change of results is intended.
golden: .venv/installed
	PYTHON=.venv/bin/python tests/golden/check.sh

golden-record: .venv/installed
	.venv/bin/python tests/golden record

# The pages of `sparsecrf report`, and of the manual if it is built, in Chromium ($$CHROMIUM, or one on the path).
test-browser: .venv/installed .venv/browser chromium
	.venv/bin/python -m pytest tests/browser $(PYTEST_ARGS)

# The component of spaCy. Not in `test`: spaCy and what it needs are large, and not there for every Python.
test-spacy: .venv/installed .venv/spacy
	.venv/bin/python -m pytest tests/contrib/test_spacy.py tests/project/test_docs.py -k spacy $(PYTEST_ARGS)

# The C library as WebAssembly, for `sparsecrf report --try` and as an npm package in build/npm, by Emscripten 3.1.6 or
# later. The package in .venv gets it.
wasm: .venv/tools
	@command -v emcmake >/dev/null || { echo "make wasm: expected Emscripten (emcmake) on the path, found none." \
		"Install it (Debian: apt-get install emscripten) and try again." >&2; exit 1; }
	PATH="$(abspath .venv/bin):$$PATH" emcmake cmake -S . -B build/wasm -G Ninja -DCMAKE_BUILD_TYPE=Release
	.venv/bin/cmake --build build/wasm
	.venv/bin/python cpp/wasm/assemble.py build/wasm/cpp/wasm/sparsecrf.wasm build/npm
	$(MAKE) .venv/installed

# That the library still compiles for 32 bits, as WebAssembly does, without Emscripten; a quarter of a minute.
check-32bit:
	cpp/wasm/check_32bit.sh

# The manual, in docs/_build/html; the examples of its gallery run. Nothing is fetched but packages.
docs: .venv/docs
	.venv/bin/python -m sphinx -W --keep-going -n -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Ratios against python-crfsuite on made-up data, checked against a floor; minutes.
bench: .venv/installed
	PYTHONPATH=. .venv/bin/python benchmarks/regression/run.py

# Kernels: time against density, share of the machine's limit; minutes.
bench-micro: .venv/installed
	PYTHONPATH=. .venv/bin/python benchmarks/micro/run.py

# Every other tool, those of PyPI installed here, programs if they are on PATH; needs the data sets ($$SPARSECRF_DATA);
# hours. BENCH_ARGS="TASK ... --limit 60 --tools auto Wapiti" makes it shorter; --data FOLDER is a task of one's own.
bench-peers: .venv/installed .venv/peers
	PYTHONPATH=. .venv/bin/python benchmarks/peers/run.py $(BENCH_ARGS)

# Needs the data sets ($$SPARSECRF_DATA); an hour.
bench-training: .venv/installed
	PYTHONPATH=. .venv/bin/python benchmarks/training/run.py $(BENCH_ARGS)

# Needs CoNLL-2000 there.
bench-labelling: .venv/installed
	PYTHONPATH=. .venv/bin/python benchmarks/labelling/run.py $(BENCH_ARGS)

# Needs CoNLL-2000 there, and sklearn-crfsuite, which is of the test extra.
bench-estimator: .venv/installed
	PYTHONPATH=. .venv/bin/python benchmarks/estimator/run.py $(BENCH_ARGS)

# The server beside FastAPI with sklearn-crfsuite, by wrk (Debian: apt-get install wrk); five minutes.
bench-serving: .venv/installed
	.venv/bin/python -m pip install --quiet --group serving
	PYTHONPATH=. .venv/bin/python benchmarks/serving/run.py $(BENCH_ARGS)

# The paper's experiments: DATA=FOLDER, or QUICK=1 on made-up data; ONLY="NAME ..." chooses, OUT=FOLDER says where to.
# Stopped and started again, it goes on. `make experiments-pages` puts the tables into experiments/*.md.
experiments: .venv/installed
	PYTHONPATH=. .venv/bin/python -m experiments.run $(ONLY) $(if $(DATA),--data $(DATA)) $(if $(QUICK),--quick) \
		$(if $(OUT),--out $(OUT))

experiments-pages: .venv/installed
	PYTHONPATH=. .venv/bin/python -m experiments.run --write $(if $(OUT),--out $(OUT))

lint: .venv/installed .venv/lint
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/clang-format --dry-run --Werror $(CPP_FILES)
	@# A function shared between files but compiled for AVX may be the copy the linker keeps for all machines.
	@if nm -C build/venv/CMakeFiles/sparsecrf_core.dir/cpp/core/simd/kernels_avx*.o 2>/dev/null | grep ' [WVu] '; \
	then echo "kernels_avx*.cpp export the inline functions above: make them static or anonymous"; exit 1; fi

format: .venv/lint
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .
	.venv/bin/clang-format -i $(CPP_FILES)

clean:
	rm -rf docs/_build docs/gallery docs/generated
	rm -rf .venv .venv-sanitize .venv-sanitize-thread .venv-release build dist
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis

# ---- The environments. The build tools stay in them (no build isolation), so that a rebuild compiles only what changed.
%/tools: pyproject.toml
	test -x $*/bin/python || $(PYTHON) -m venv $*
	$*/bin/python -m pip install --quiet --upgrade pip
	$*/bin/python -m pip install --quiet --group build
	touch $@

.venv/package: .venv/tools $(SOURCES)
	.venv/bin/python -m pip install --quiet --no-compile --no-build-isolation -C build-dir=build/venv ".[plot,demo]"
	touch $@

.venv/test-packages: pyproject.toml | .venv/package
	.venv/bin/python -m pip install --quiet --no-build-isolation -C build-dir=build/venv ".[test]"
	touch $@

.venv/installed: .venv/package .venv/test-packages
	touch $@

.venv/lint .venv/peers .venv/coverage .venv/browser: .venv/%: .venv/tools
	.venv/bin/python -m pip install --quiet --group $*
	touch $@

# Chromium is the system's: it is installed if there is none and that can be done without asking.
chromium:
	@for name in "$$CHROMIUM" chromium chromium-browser google-chrome; do \
		if command -v "$$name" >/dev/null 2>&1; then exit 0; fi; \
	done; \
	if [ "$$(id -u)" = 0 ]; then as_root=; else as_root="sudo -n"; fi; \
	if command -v apt-get >/dev/null 2>&1 && $$as_root true 2>/dev/null; then \
		$$as_root apt-get -qq update && \
		$$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium >/dev/null; \
	else \
		echo "make test-browser: expected Chromium on the path or in \$$CHROMIUM, found none, and it cannot be" \
			"installed from here. Install it (Debian: apt-get install chromium) and try again." >&2; exit 1; \
	fi

.venv/spacy .venv/docs: .venv/%: .venv/installed
	.venv/bin/python -m pip install --quiet --no-build-isolation -C build-dir=build/venv ".[$*]"
	touch $@

# ---- AddressSanitizer and UBSan (GCC on Linux). Python itself is not built with them, so their libraries are loaded
# first; abort_on_error lets pytest print which test it was, --capture=sys lets the report through.
SANITIZE_LIBS = $(foreach lib,libasan.so libubsan.so libstdc++.so,$(shell $(CXX) -print-file-name=$(lib)))

.venv-sanitize/installed: .venv-sanitize/tools $(SOURCES)
	CXX=$(CXX) .venv-sanitize/bin/python -m pip install --quiet --no-build-isolation -C build-dir=build/sanitize \
		-C cmake.build-type=Debug -C cmake.define.SPARSECRF_SANITIZE=address,undefined ".[test]"
	touch $@

sanitize: .venv-sanitize/installed
	LD_PRELOAD="$(SANITIZE_LIBS)" PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 \
		UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1 HYPOTHESIS_PROFILE=brief \
		.venv-sanitize/bin/python -m pytest --capture=sys $(PYTEST_ARGS)

# ---- A release: sdist and wheels, audited, installed without a compiler, tested; the core on other systems (release/).
# WHEELS_ARGS="STEP ... --tests 'tests/model/test_model.py'" does less. Needs Python 3.11 or later here, one from 3.12 on, and
# Emscripten.
IN_RELEASE = PATH="$(abspath .venv-release/bin):$$PATH" .venv-release/bin/python

wheels: .venv-release/release
	$(IN_RELEASE) release/wheels.py $(WHEELS_ARGS)

# The tests on Python 3.10 to 3.14 with the oldest and newest dependencies; MATRIX_ARGS="3.10 --only oldest" does less.
test-matrix: .venv-release/release
	$(IN_RELEASE) release/wheels.py sdist wasm wheels
	$(IN_RELEASE) release/matrix.py $(MATRIX_ARGS)

.venv-release/release: .venv-release/tools
	.venv-release/bin/python -m pip install --quiet --group release
	touch $@

# ---- ThreadSanitizer: the core without Python (cpp/tests/threads.cpp, transition.cpp), then the tests that use threads.
# Python and NumPy are not built with it: what they do is not looked at (ignore_noninstrumented_modules), but their locks
# are. THREAD_TESTS=tests is the whole suite.
THREAD_TESTS ?= tests/core/test_threads.py tests/core/test_oracle.py tests/core/test_inference.py tests/shards/test_shards.py tests/training/test_sgd.py \
	tests/training/test_sbcd.py tests/training/test_training.py tests/core/test_ngrams.py tests/core/test_many_labels.py tests/cli/test_train_label.py \
	tests/training/test_heldout.py tests/training/test_dual.py tests/training/test_dual_ascent.py

.venv-sanitize-thread/installed: .venv-sanitize-thread/tools $(SOURCES)
	CXX=$(CXX) .venv-sanitize-thread/bin/python -m pip install --quiet --no-build-isolation -C build-dir=build/thread \
		-C cmake.build-type=RelWithDebInfo -C cmake.define.SPARSECRF_SANITIZE=thread ".[test]"
	touch $@

sanitize-thread: .venv/tools .venv-sanitize-thread/installed
	CXX=$(CXX) .venv/bin/cmake -S . -B build/core-thread -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath .venv/bin/ninja) \
		-DCMAKE_BUILD_TYPE=RelWithDebInfo -DSPARSECRF_PROGRAMS=ON -DSPARSECRF_SANITIZE=thread
	.venv/bin/cmake --build build/core-thread --target threads transition
	TSAN_OPTIONS=halt_on_error=1 build/core-thread/threads 4
	build/core-thread/transition
	LD_PRELOAD="$(shell $(CXX) -print-file-name=libtsan.so)" HYPOTHESIS_PROFILE=brief \
		TSAN_OPTIONS=halt_on_error=1:ignore_noninstrumented_modules=1:die_after_fork=0:report_signal_unsafe=0 \
		.venv-sanitize-thread/bin/python -m pytest --capture=sys $(THREAD_TESTS) $(PYTEST_ARGS)

# ---- Faults and attacks: fuzzing, tiny random fits, kills, full disks, little memory, a soak, Valgrind, and the
# experiments that take too long for `make test`. Two hours with MINUTES=60 of fuzzing; ONLY="NAME ..." chooses. Writes
# torture/RECORD.md.
torture: .venv/installed .venv/torture
	$(if $(ONLY),,$(MAKE) experiments QUICK=1 ONLY="simulated letters path context")
	PYTHONPATH=. .venv/bin/python -m torture.run $(ONLY) --minutes $(or $(MINUTES),60)

.venv/torture: .venv/tools
	.venv/bin/python -m pip install --quiet --group torture
	touch $@
