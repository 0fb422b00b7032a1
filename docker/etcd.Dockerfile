# etcd, where the masters of compose.standby.yaml decide which of them leads: Debian's own, on the base of weft's image. Built from the
# root of the tree:
#
#   docker build -t weft-etcd -f docker/etcd.Dockerfile .
#
# installs the package. With the program of this machine it takes seconds, and no network:
#
#   docker/stage --etcd
#   docker build -t weft-etcd -f docker/etcd.Dockerfile --build-arg FROM_BUILD=build/etcd .
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
ARG FROM_BUILD=
COPY ${FROM_BUILD:-docker/etcd.Dockerfile} /from/
RUN if [ -n "$FROM_BUILD" ]; then \
      cp /from/etcd /usr/bin/etcd || { echo "there is no $FROM_BUILD/etcd; see the top of docker/etcd.Dockerfile" >&2; exit 1; }; \
    else \
      apt-get update -q && apt-get install -y -q --no-install-recommends etcd-server; \
    fi

FROM ${BASE}
RUN useradd --uid 1000 --create-home etcd && install -d -o etcd -g etcd -m 700 /var/lib/etcd
COPY --from=build /usr/bin/etcd /usr/bin/etcd
RUN etcd --version
USER etcd
WORKDIR /var/lib/etcd
HEALTHCHECK --interval=15s --timeout=5s CMD ["bash", "-c", "exec 3<> /dev/tcp/127.0.0.1/2379"]
ENTRYPOINT ["etcd"]
