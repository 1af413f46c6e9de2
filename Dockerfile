# The binary is static, holds the root certificates itself, and needs no file system: the last stage is empty but for it.
ARG GO_IMAGE=golang:1.26
FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
ARG TARGETOS TARGETARCH
# Names of clouds, such as "aws"; empty: all of them.
ARG TAGS=
RUN CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} go build -trimpath \
    -tags "grpcnotrace ${TAGS}" -ldflags "-s -w -X main.version=${VERSION}" -o /cluster-autoscaler ./cmd/cluster-autoscaler

FROM scratch
WORKDIR /
COPY --from=build /cluster-autoscaler /cluster-autoscaler
USER 65534:65534
EXPOSE 8085
CMD ["/cluster-autoscaler"]
