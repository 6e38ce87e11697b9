#!/usr/bin/env bash
# Let this machine join a cluster, with ports that a firewall can name (docs/how_to/cluster.md).
#
#     ./start_node.sh HEAD ADDRESS [CPUS [OPTION...]]
#
# HEAD and ADDRESS are the head's and this machine's addresses in the network of the cluster; CPUS,
# all cores unless said, are for workers; further options go to `ray start`. Kernels are compiled
# before it joins. It stays in the foreground, so that systemd, tmux or a batch job can watch it and
# end it.
set -euo pipefail
head=${1:?"usage: $0 HEAD ADDRESS [CPUS]"}
address=${2:?"usage: $0 HEAD ADDRESS [CPUS]"}
cpus=${3:-$(nproc)}

archloom compile --workers "$cpus"
export RAY_AUTH_MODE=token
exec ray start --address="$head:6379" --block --disable-usage-stats \
  --node-ip-address="$address" --num-cpus="$cpus" \
  --node-manager-port=6380 --object-manager-port=6381 --runtime-env-agent-port=6382 \
  --min-worker-port=10002 --max-worker-port=10999 "${@:4}"
