#!/bin/bash
# Installs the clients that the tests of this directory drive, on Debian, as root.
# Does nothing when everything is there; the tests name what they miss.
set -euo pipefail

dir=${WAYLEAVE_CLIENTS_DIR:-$HOME/.cache/wayleave-clients}

has() { command -v "$1" >/dev/null 2>&1; }

# Each line of the table is a program and the package that has it.
missing=()
while read -r program package; do
    has "$program" || missing+=("$package")
done <<'TABLE'
chromium chromium
certutil libnss3-tools
javac default-jdk-headless
node nodejs
npm npm
python3 python3
curl curl
wget wget
git git
openssl openssl
TABLE

if ((${#missing[@]})) || ! has cargo; then
    apt-get update -qq
    # Debian 12 has a cargo that knows no registries over HTTP, and beside it one
    # that is kept new for browsers.
    if ! has cargo && apt-cache show cargo-web >/dev/null 2>&1; then
        missing+=(cargo-web)
    elif ! has cargo; then
        missing+=(cargo)
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        ca-certificates "${missing[@]}" >/dev/null
fi

# Debian's Node may be older than the first one that uses a proxy from the
# environment (22.21), which would go past the edge without a word.
if [[ ! -x $dir/node_modules/node/bin/node ]]; then
    npm install --silent --no-audit --no-fund --prefix "$dir" node@^22.21
fi
