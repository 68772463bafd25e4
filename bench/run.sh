#!/bin/bash
# Measures this checkout's wayleave beside its peers and prints the table.
#
#   bench/run.sh WORK [compare flags]     e.g. bench/run.sh ~/bench -rounds 5
#
# WORK is a folder on the disk to measure; setup.sh must have filled it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(cd "${1:?usage: bench/run.sh WORK [compare flags]}" && pwd)
shift
ulimit -n 20000
(cd "$here/.." && CGO_ENABLED=0 go build -o "$work/bin/wayleave" ./cmd/wayleave)

# config NAME PORT ADMIN POLICY writes one configuration with a new data directory.
config() {
  rm -rf "$work/data-$1"
  cat >"$work/$1.yaml" <<EOF
listen: 127.0.0.1:$2
admin: {listen: 127.0.0.1:$3}
data: $work/data-$1
connect_ports: ["1-65535"]
upstream: {ca_file: $work/origin-ca.pem}
policy: $4
EOF
}
config plain 18201 18301 '{allow_private: [127.0.0.0/8]}'
config mitm 18202 18302 '{allow_private: [127.0.0.0/8]}'
config tunnel 18203 18303 '{allow_private: [127.0.0.0/8], services: [127.0.0.1], tunnels: [127.0.0.1]}'

export WAYLEAVE_BIN=$work/bin/wayleave WAYLEAVE_CA=$work/data-mitm/ca/ca.pem
export WAYLEAVE_ADDR=127.0.0.1:18201 WAYLEAVE_CONFIG=$work/plain.yaml
export WAYLEAVE_MITM_ADDR=127.0.0.1:18202 WAYLEAVE_MITM_CONFIG=$work/mitm.yaml
export WAYLEAVE_TUNNEL_ADDR=127.0.0.1:18203 WAYLEAVE_TUNNEL_CONFIG=$work/tunnel.yaml
exec "$work/bin/loadgen" compare -peers "$here/peers.json,$here/wayleave.json" -conf "$here/conf" -dir "$work" -out "$work/compare.json" \
  -pick goproxy,goproxy-mitm,goproxy-mitm-h2,goproxy-journal,goproxy-mitm-journal,squid,squid-bump,wayleave,wayleave-mitm,wayleave-tunnel "$@"
