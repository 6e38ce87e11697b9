#!/usr/bin/env bash
# Start Ray's head on this machine, with ports that a firewall can name (docs/how_to/cluster.md).
#
#     ./start_head.sh ADDRESS [CPUS [OPTION...]]
#
# ADDRESS is this machine's in the network of the cluster; CPUS, 0 unless said, are for workers.
# Further options go to `ray start`. It stays in the foreground, so that systemd, tmux or a batch job
# can watch it and end it.
set -euo pipefail
address=${1:?"usage: $0 ADDRESS [CPUS]"}
cpus=${2:-0}

export RAY_AUTH_MODE=token
# figures of Ray's own, which nobody here reads; it has no option for that
export AUTOSCALER_METRIC_PORT=6383
exec ray start --head --block --disable-usage-stats --include-dashboard=false \
  --node-ip-address="$address" --port=6379 --num-cpus="$cpus" \
  --node-manager-port=6380 --object-manager-port=6381 --runtime-env-agent-port=6382 \
  --min-worker-port=10002 --max-worker-port=10999 "${@:3}"
