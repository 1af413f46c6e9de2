# Everything is built without cgo, so that all builds share one cache and the binaries are static. Only the race detector needs cgo.
export CGO_ENABLED := 0

GO      ?= go
BIN     := bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# The cloud whose stand-in the demo and the playground drive: aws or digitalocean.
CLOUD   ?= aws
IMAGE   ?= cluster-autoscaler:$(VERSION)

# TAGS may name clouds: aws, digitalocean, externalgrpc; without, all are built in. grpcnotrace leaves out gRPC's debugging pages: they make the linker keep
# twice as much code.
TAGS    ?= $(BUILD_TAGS)
# -s -w drops symbol tables and -X names the version; neither makes Go compile anything anew.
LDFLAGS := -s -w -X main.version=$(VERSION)

# Tests run with the race detector where there is a C compiler for it.
CC_FOUND := $(shell command -v gcc || command -v clang || command -v cc)
ifeq ($(CC_FOUND),)
TEST_ENV   := CGO_ENABLED=0
TEST_FLAGS :=
TEST_NOTE  := no C compiler found: tests run without the race detector
else
TEST_ENV   := CGO_ENABLED=1
TEST_FLAGS := -race
TEST_NOTE  := C compiler $(CC_FOUND) found: tests run with the race detector
endif

.DEFAULT_GOAL := help
.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: build playground-build ## Watch the autoscaler grow and shrink a real cluster on this machine
	$(BIN)/playground demo --cloud=$(CLOUD) --autoscaler=$(BIN)/cluster-autoscaler

.PHONY: test
test: ## Run all tests except the end-to-end ones
	@echo "$(TEST_NOTE)"
	$(TEST_ENV) $(GO) test $(TEST_FLAGS) -shuffle=on -timeout=20m ./...
	cd hack/playground && $(GO) test -shuffle=on -timeout=10m $$($(GO) list ./... | grep -v /e2e)

.PHONY: build
build: ## Build the autoscaler into bin/
	@mkdir -p $(BIN)
	$(GO) build -tags 'grpcnotrace $(TAGS)' -ldflags '$(LDFLAGS)' -o $(BIN)/cluster-autoscaler ./cmd/cluster-autoscaler

.PHONY: smoke-clouds
smoke-clouds: ## Build the binaries of single clouds and try each
	BIN=$(BIN) hack/smoke-clouds.sh

.PHONY: playground-build
playground-build:
	@mkdir -p $(BIN)
	@echo "building the playground: a control plane, about 15 minutes when nothing is cached yet, 30 seconds afterwards"
	@cd hack/playground && bash ../with-progress.sh $(GO) build -ldflags '-s -w' -o ../../$(BIN)/playground .

.PHONY: playground
playground: build playground-build ## Start the playground and leave it running until Ctrl-C
	$(BIN)/playground up --cloud=$(CLOUD) --autoscaler=$(BIN)/cluster-autoscaler

.PHONY: e2e
e2e: build playground-build ## Run the end-to-end stories against a real control plane
	cd hack/playground && PLAYGROUND_BINARY=$(CURDIR)/$(BIN)/playground AUTOSCALER_BINARY=$(CURDIR)/$(BIN)/cluster-autoscaler \
		$(GO) test -count=1 -timeout=20m -parallel=8 ./e2e/...

# The published shapes at their published size, the growth series up to it, and the comparison with the framework alone at a tenth of it, where that
# takes minutes and not hours. docs/performance.md explains the figures.
SHAPES := $(GO) test ./core/shapes -run='^$$' -timeout=3h -benchtime=3x

.PHONY: bench
bench: ## Run the benchmarks; compare two commits with benchstat
	$(GO) test -run='^$$' -bench=. -benchmem -count=1 -timeout=60m $$($(GO) list ./... | grep -v /core/shapes$$)
	@$(MAKE) --no-print-directory bench-shapes

# A benchmark that decides wrongly keeps the others and the tables from nobody, but fails the target.
.PHONY: bench-shapes
bench-shapes:
	@mkdir -p $(BIN)
	@$(SHAPES) -bench=Ingest -shapes.divide=1 | tee $(BIN)/shapes.txt
	@$(SHAPES) -bench='Shapes/.*/.*/.*/fastpath=on' -shapes.divide=1 | tee -a $(BIN)/shapes.txt
	@$(SHAPES) -bench=Growth -shapes.divide=4 | tee -a $(BIN)/shapes.txt
	@$(SHAPES) -bench=Shapes -shapes.divide=10 | tee -a $(BIN)/shapes.txt
	@awk -f hack/growth.awk $(BIN)/shapes.txt
	@! grep -a '^FAIL' $(BIN)/shapes.txt

.PHONY: fmt
fmt: ## Format the code
	gofmt -w $$(git ls-files '*.go')

.PHONY: generate
generate: ## Make generated files anew
	hack/generate.sh

.PHONY: lint
lint: $(BIN)/golangci-lint ## Run the linters
	$(BIN)/golangci-lint run ./...

$(BIN)/golangci-lint: hack/tools/go.mod hack/tools/go.sum
	@mkdir -p $(BIN)
	cd hack/tools && $(GO) build -o ../../$(BIN)/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: verify
verify: lint ## Check that generated files, modules and formatting are current
	hack/verify.sh

.PHONY: image
image: ## Build the container image
	docker build --build-arg VERSION=$(VERSION) -t $(IMAGE) .
