# The image holds the binary, the public roots and an empty data directory. The
# CA is made at first start, in the volume, and is never part of an image.

FROM golang:1.26 AS build
ARG OUT=/out
WORKDIR /src
# The modules change less often than the code: a layer of their own.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags=-s -o $OUT/wayleave ./cmd/wayleave
# scratch has no mkdir: the data directory is made here and copied with its owner.
RUN mkdir -p $OUT/var/lib && install -d -m 0700 -o 65532 -g 65532 $OUT/var/lib/wayleave

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/wayleave /wayleave
COPY --from=build --chown=65532:65532 /out/var/lib/wayleave /var/lib/wayleave
ENV WAYLEAVE_DATA=/var/lib/wayleave
# Loopback in a container reaches nobody, so the proxy listens on every address,
# and therefore wants credentials: `wayleave session new` issues them.
ENV WAYLEAVE_LISTEN=0.0.0.0:3128
ENV WAYLEAVE_AUTH=token
USER 65532:65532
VOLUME /var/lib/wayleave
EXPOSE 3128
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["/wayleave", "doctor", "--health"]
ENTRYPOINT ["/wayleave"]
CMD ["serve"]
