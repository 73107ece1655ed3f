# The front door.  Meson builds; this remembers how to ask it.

BUILD  ?= build
J      ?= $(shell nproc)
PREFIX ?= /usr/local
TIME   ?= 60
LISTEN ?= 127.0.0.1:7070
DATA   ?= ./var

share = $(DESTDIR)$(PREFIX)/share

all: build

help:
	@echo 'make          build $(BUILD)/muster'
	@echo 'make run      build, then serve on $(LISTEN) with $(DATA) as its data'
	@echo 'make test     every test: plain, ASan+UBSan, TSan (RUNS="plain asan tsan")'
	@echo 'make check    format, layers, limits, banned words, clang-tidy, cppcheck'
	@echo 'make bench    the server beside its floors, one table; PART=objects|machines|overload|libvirt'
	@echo 'make fuzz     each fuzz target for TIME=$(TIME) seconds; FUZZ=name picks one,'
	@echo '              MERGE=1 minimises the corpora instead'
	@echo 'make soak     very many histories of the whole system (SEEDS=1000000)'
	@echo 'make soak-more  the other simulations with many seeds (SEEDS=5000)'
	@echo 'make coverage lines and branches that the tests reach in the rooms that'
	@echo '              matter most; MISSING=src/identity/oidc.c lists what is'
	@echo '              missing there instead, after a run'
	@echo 'make zoo      wrong drivers, and which check of the contract catches each'
	@echo 'make mutations  safeguards removed one by one, and which test notices;'
	@echo '              ONLY="words" picks some'
	@echo 'make chaos    the program killed, on failing disks, stopped, flooded; long;'
	@echo '              PART=kill picks one, RUNS=n says how often'
	@echo 'make guests   the Debian image, built and booted with user data of every'
	@echo '              format, its snapshots, volumes and ports; long; FORMATS="script'
	@echo '              jinja" picks some, IMAGE=file boots one that was built'
	@echo 'make install  to PREFIX=$(PREFIX), under DESTDIR when given'
	@echo 'make clean    remove the build directories'
	@echo 'J=$(J) jobs; BUILD=$(BUILD) names the build directory'

# What could go in parallel is ninja's to run.
.NOTPARALLEL:
.PHONY: all help setup build run test check bench fuzz soak soak-more coverage \
	zoo mutations chaos guests install clean setup-run setup-guests

setup:
	@tools/setup build

setup-run setup-guests:
	@tools/setup $(@:setup-%=%)

build: setup $(BUILD)/build.ninja
	ninja -C $(BUILD) -j $(J)

$(BUILD)/build.ninja:
	meson setup $(BUILD)

# The program alone: whoever wants to see it run need not wait for the tests.
run: setup-run $(BUILD)/build.ninja
	ninja -C $(BUILD) -j $(J) muster
	exec $(BUILD)/muster serve --data $(DATA) --listen $(LISTEN) --local \
		--rehearse

test:
	@tools/setup test
	@BUILD=$(BUILD) J=$(J) tools/test $(RUNS)

check:
	@tools/setup check
	@BUILD=$(BUILD) J=$(J) tools/check

# What is measured is what would be installed, in a directory of its own so
# that nobody's options get in the way.  It is optimised as a whole, which would
# take too long for each of the tests' programs.
release = $(BUILD)-release

$(release)/build.ninja:
	meson setup --buildtype=debugoptimized -Db_lto=true $(release)

bench:
	@tools/setup bench
	@$(MAKE) --no-print-directory $(release)/build.ninja >/dev/null
	@ninja -C $(release) -j $(J) --quiet muster bench_load bench_flood \
		bench_watch bench_access bench_audit bench_http_floor \
		bench_sqlite_floor \
		>/dev/null
	@tools/bench $(release) $(PART)

fuzz:
	@tools/setup test
	@BUILD=$(BUILD) J=$(J) TIME=$(TIME) MERGE=$(MERGE) tools/fuzz $(FUZZ)

soak: setup $(BUILD)/build.ninja
	@ninja -C $(BUILD) -j $(J) --quiet test_whole >/dev/null
	@SEEDS=$(SEEDS) J=$(J) tools/soak $(BUILD)/test_whole

soak-more: build
	SEEDS=$(or $(SEEDS),5000) meson test -C $(BUILD) --suite sim \
		--suite soak --timeout-multiplier 0 --num-processes $(J)

coverage:
	@tools/setup coverage
	@BUILD=$(BUILD) J=$(J) tools/coverage \
		$(if $(MISSING),--missing $(MISSING))

zoo: setup $(BUILD)/build.ninja
	@ninja -C $(BUILD) -j $(J) --quiet test_zoo >/dev/null
	@said=$$($(BUILD)/test_zoo .); failed=$$?; \
		echo "$$said" | sed -n 's/^# //p'; exit $$failed

mutations: setup
	@J=$(J) SEEDS=$(SEEDS) tools/mutations $(ONLY)

chaos: setup $(BUILD)/build.ninja
	@ninja -C $(BUILD) -j $(J) --quiet muster libshim.so >/dev/null
	@RUNS=$(or $(RUNS),0) tests/chaos/chaos.py $(BUILD)/muster \
		$(BUILD)/libshim.so long $(PART)

debian = $(or $(IMAGE),$(BUILD)/debian.qcow2)
guests: setup-guests $(BUILD)/build.ninja
	@ninja -C $(BUILD) -j $(J) --quiet muster guest_seed \
		test_libvirt_disks >/dev/null
	@[ -n "$(IMAGE)" ] || rm -f $(debian)
	@FORMATS="$(FORMATS)" tests/guest/debian.py $(BUILD)/muster \
		$(BUILD)/guest_seed $(debian)
	@tests/e2e/vm_disks.py $(BUILD)/muster $(debian)
	@tests/guest/disks.py $(BUILD)/muster $(BUILD)/test_libvirt_disks hosts
	@MUSTER_DEBIAN_IMAGE=$(debian) tests/e2e/libvirt_hosts.py $(BUILD)/muster

install: setup $(release)/build.ninja
	ninja -C $(release) -j $(J) muster
	install -D -m 755 $(release)/muster $(DESTDIR)$(PREFIX)/bin/muster
	install -d $(share)/man/man1
	$(release)/muster man --all $(share)/man/man1
	install -d $(share)/bash-completion/completions \
		$(share)/zsh/site-functions $(share)/fish/vendor_completions.d
	$(release)/muster completion bash \
		>$(share)/bash-completion/completions/muster
	$(release)/muster completion zsh >$(share)/zsh/site-functions/_muster
	$(release)/muster completion fish \
		>$(share)/fish/vendor_completions.d/muster.fish
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|@PREFIX@|$(PREFIX)|' contrib/muster.service \
		>$(DESTDIR)$(PREFIX)/lib/systemd/system/muster.service

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz \
		$(release) $(BUILD)-coverage
