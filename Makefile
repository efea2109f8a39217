# `make` alone lists the targets.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PYTHONUNBUFFERED := 1
# Else each start compiles Snakemake, pandas and this package again: seconds for every command.
unexport PYTHONDONTWRITEBYTECODE

# A target takes the settings that its own line names.
GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
TAKEN = $(patsubst %=,%,$(shell grep -E '^$(1):' Makefile | grep -oE '\b[A-Z_]+='))
TAKERS = $(shell sed -nE 's/^([a-z-]+):.*\b$(1)=.*/\1/Ip' Makefile)
$(foreach goal,$(or $(MAKECMDGOALS),help),$(foreach name,$(GIVEN),$(if $(filter $(name),$(call TAKEN,$(goal))),,\
  $(error `make $(goal)` does not take $(name)=; it takes $(or $(addsuffix =,$(call TAKEN,$(goal))),no setting). Hint: $(strip \
  $(if $(call TAKERS,$(name)),these take it in capitals: $(call TAKERS,$(name)),\
  a variable of the environment goes before the command: $(name)=... make $(goal)))))))
# Else PARTIAL=0 is PARTIAL=1.
ONES := $(patsubst %=1,%,$(shell grep -oE '\b[A-Z_]+=1\b' Makefile))
$(foreach name,$(filter $(ONES),$(GIVEN)),$(if $(filter-out 1,$($(name))),$(error $(name)= is 1 or left out)))
# Else make finds the file, says that it is up to date, and the study is another one.
$(foreach file,$(filter %.yaml %.yml %.json %.zst,$(MAKECMDGOALS)),\
  $(error $(file) is not a target. Hint: name it by its setting: $(if $(filter %.zst,$(file)),ARCHIVE,CONFIG)=$(file)))

CONFIG ?=
SPACE := $() $()
CONFIGS := $(if $(wildcard $(subst $(SPACE),\ ,$(CONFIG))),--configfile "$(CONFIG)",$(foreach file,$(CONFIG),--configfile $(file)))
RUN := .venv/.requirements
DEV := .venv/.dev
INTEROP := .venv-interop/.made
DOCS := .venv/.docs
CLUSTER := .venv/.cluster

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 25

# The programs in .venv name the folder that they were made in.
MOVED := $(shell [ ! -s $(RUN) ] || [ "$$(cat $(RUN))" = "$$PWD" ] || echo moved)
moved:
	@[ ! -w . ] || rm -rf .venv .venv-interop

$(RUN): $(MOVED) envs/requirements.lock envs/installer.lock pyproject.toml scripts/bootstrap.sh
	@scripts/bootstrap.sh $(if $(wildcard $(DEV)),dev,requirements)
	@pwd >$@

$(DEV): $(MOVED) envs/dev.lock envs/installer.lock pyproject.toml scripts/bootstrap.sh
	@scripts/bootstrap.sh dev
	@pwd | tee $(RUN) >$@

$(INTEROP): envs/interop.lock envs/installer.lock pyproject.toml tools/interop/inspect/pyproject.toml scripts/bootstrap.sh
	@scripts/bootstrap.sh interop
	@touch $@

$(DOCS): $(RUN) envs/docs.lock
	@scripts/bootstrap.sh docs
	@touch $@

$(CLUSTER): $(RUN) envs/cluster.lock
	@scripts/bootstrap.sh cluster
	@touch $@

env: $(RUN) ## Make the pinned environment (.venv)

shell: $(RUN) ## A shell inside the environment: snakemake --cores 8, snakemake report
	@bash --rcfile <(echo 'source .venv/bin/activate')

demo: $(RUN) ## A whole study with the embedded model, one trial, at no cost: ends with a report
	@fluency run --configfile config/demo.yaml

run: $(RUN) $(if $(wildcard profiles/$(ON)/profile.yaml),$(CLUSTER)) ## The default study (embedded model, 5 trials), or CONFIG=config/other.yaml (ON=slurm: on a cluster)
	@fluency run $(CONFIGS) $(if $(ON),--on $(ON))

study: $(RUN) ## The study as designed (Opus 4.7, Sonnet 4.6), or CONFIG=...: shows its price, asks, costs money
	@fluency run $(or $(CONFIGS),--configfile config/study.yaml)

plan: $(RUN) ## What a run would do, why, what it costs, what is missing (CONFIG=...)
	@fluency plan $(CONFIGS)

ask-one: $(RUN) ## Ask a model one cell: request, reply, readings, usage and price; nothing is stored (MODEL=alias CONFIG=...)
	@fluency ask-one "$${MODEL:-}" $(CONFIGS)

report: $(RUN) ## The report of a study as far as it is measured (CONFIG=...)
	@fluency report $(CONFIGS)

image: $(RUN) ## Build the sandbox image (POWERSHELL_ARCHIVE=file adds PowerShell)
	@fluency image

doctor: $(RUN) ## What this machine has, lacks, and what that prevents
	@fluency doctor

validate: $(RUN) ## Prove the tasks fair in the sandbox (TASK=id, SEEDS=11,24, ONLY_WRONG=1)
	@fluency validate $(if $(TASK),--task $(TASK)) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(ONLY_WRONG),--only-wrong)

new-task: $(RUN) ## Begin a task, or list what it still lacks (FROM=candidate NAME=id SNAPSHOT=1)
	@fluency new-task $(if $(FROM),--from "$${FROM}") $(if $(NAME),--name "$${NAME}") $(if $(SNAPSHOT),--snapshot)

mutants: $(RUN) ## Mutate the reference commands and see what the checks kill (TASK=id); writes tools/command_mutants_*.md
	@python -m tools.command_mutants $(TASK)

recordings: $(RUN) ## Execute all commands of all tasks and record what they print; writes tests/data/executions.jsonl
	@python -m tools.record_executions

show: $(RUN) ## One cell in the terminal (CELL=model/shell/task/trial FULL=1)
	@fluency show "$${CELL:-}" $(if $(FULL),--full)

compare: $(RUN) ## Two studies task by task (A=... B=..., each a name, a folder, a cells.csv or an archive)
	@fluency compare "$${A:-}" "$${B:-}"

power: $(RUN) ## What gap this design, or a larger one, could detect (CONFIG=...)
	@fluency power $(CONFIGS)

answers: $(RUN) ## The answer store: list and verify
	@fluency answers

preregister: $(RUN) ## Freeze tasks, seeds, models and plan before a study (CONFIG=... DECISION="...")
	@fluency preregister $(CONFIGS) --decision "$${DECISION:-}"

archive: $(RUN) ## Pack a finished study into one file, and verify it (CONFIG=... PARTIAL=1 IMAGE=1)
	@fluency archive $(CONFIGS) $(if $(PARTIAL),--partial) $(if $(IMAGE),--image)

verify: $(RUN) ## Check an archive's evidence and scores, offline (ARCHIVE=file RECORD=decision.md)
	@fluency verify "$${ARCHIVE:-}" $(if $(RECORD),--record "$${RECORD}")

open: $(RUN) ## Verify an archive and open its report and explorer (ARCHIVE=file)
	@fluency open "$${ARCHIVE:-}"

example: $(RUN) ## The example study: verified offline, its report and explorer opened (VERBOSE=1)
	@fluency open example/*.tar.zst $(if $(VERBOSE),--verbose)

replay: $(RUN) ## Rescore or re-execute an archive (ARCHIVE=file STAGE=score|execute; N=40: a random sample)
	@fluency replay "$${ARCHIVE:-}" $(if $(STAGE),--stage $(STAGE)) $(if $(N),--sample $(N))

decision: $(RUN) ## Write a decision record from an archive (ARCHIVE=file TITLE="...")
	@fluency decision "$${ARCHIVE:-}" --title "$${TITLE:-}"

export: $(RUN) $(if $(filter inspect,$(FORMAT)),$(INTEROP)) ## A study in another program's format (FORMAT=name ARCHIVE=file or CONFIG=...; INTO=folder)
	@$(if $(filter inspect,$(FORMAT)),.venv-interop/bin/python -m fluency_inspect.logs,fluency export --format "$${FORMAT:-}") $(if $(ARCHIVE),--archive "$${ARCHIVE}") $(CONFIGS) $(if $(INTO),--into "$${INTO}")

interop: $(INTEROP) ## The environment with Inspect AI and the tasks for it (.venv-interop; docs/other-programs.md)

harbor: $(RUN) ## Write the tasks for Harbor (INTO=folder CONFIG=...)
	@python -m tools.interop.harbor.export $(CONFIGS) --into "$${INTO:-exports/harbor}"

inspect-verdicts: $(INTEROP) ## Run every recorded command through Inspect AI and compare the verdicts (20 min)
	@.venv-interop/bin/python -m fluency_inspect.agreement

mine: $(RUN) ## Find task candidates in your own agent transcripts, locally (LOGS=folder)
	@fluency mine "$${LOGS:-}"

test: $(DEV) ## All tests, in real containers, with a real model once
	@pytest -n 2 --dist loadgroup --no-loadscope-reorder

quick: $(DEV) ## The tests that need no container engine and no network (3 min)
	@pytest -n 2 --dist loadgroup -m "not engine and not slow"

lint: $(DEV) ## ruff, the layers of packages, strict types, snakefmt, Snakemake's own linter, generated pages
	@ruff check . && ruff format --check . && lint-imports --no-cache && mypy && snakefmt --check Snakefile profiles && snakemake --lint && python -m tools.pages --check

pages: $(DEV) ## Write what is made from code: commands, config, data, tasks, schemas, seccomp profile, example
	@python -m tools.pages

fix: $(DEV) ## Format the code
	@ruff check --fix . && ruff format . && snakefmt Snakefile profiles

chaos: $(DEV) ## Disturb runs of 200 cells at random moments and finish them (N=50 SEED=7)
	@N="$${N:-}" SEED="$${SEED:-}" pytest -q -m campaign tests/chaos

simulate: $(DEV) ## Simulate studies of the design again (a minute); writes tools/simulate/figures.json and every place that shows one
	@python -m tools.simulate

bench: $(DEV) ## Measure the harness, into tools/bench/results/ (NAMES="scale archive", SMALL=1)
	@python -m tools.bench $(if $(SMALL),--small) $(NAMES)

docs: $(DOCS) ## Build the documentation into site/, strictly; it opens from the disk
	@NO_MKDOCS_2_WARNING=1 mkdocs build --strict && echo site/index.html

# A lock holds what its environment adds to the locks that its .in names by -c.
lock: $(DEV) ## Pin the environments again from envs/*.in
	@for name in installer requirements docs dev interop cluster; do \
	  uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header \
	    --no-emit-index-url --no-emit-find-links --output-file envs/$$name.lock envs/$$name.in \
	    $$(sed -n 's/^-c /envs\//p' envs/$$name.in | xargs -r sed -n 's/^\([a-z0-9._-]*\)==.*/--no-emit-package \1/p'); done

clean: ## Remove results, logs and the site; answers, which may have cost money, stay
	@rm -rf site results logs .snakemake tools/bench/results

.PHONY: $(shell grep -oE '^[a-z-]+:' Makefile | tr -d :)
