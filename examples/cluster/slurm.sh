#!/usr/bin/env bash
# A study on nodes that Slurm gives: sbatch slurm.sh STUDY.yaml OUT
#
# OUT and the environment with Ray are on a file system that all nodes share. When the time is over,
# or the first node fails, submit it again: the study goes on where it was.
#SBATCH --job-name=archloom
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem-per-cpu=2G
#SBATCH --time=24:00:00
#SBATCH --signal=B:TERM@300
#SBATCH --output=archloom-%j.out
set -euo pipefail
study=${1:?"usage: sbatch $0 STUDY.yaml OUT"}
out=${2:?"usage: sbatch $0 STUDY.yaml OUT"}

# several jobs of yours may share a machine: ports of their own, and a token of this job alone
port=$((20000 + SLURM_JOB_ID % 10000))
RAY_AUTH_TOKEN_PATH=$(mktemp "$HOME/.archloom-token-XXXXXX")
export RAY_AUTH_TOKEN_PATH RAY_AUTH_MODE=token
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$RAY_AUTH_TOKEN_PATH"
trap 'rm -f "$RAY_AUTH_TOKEN_PATH"; kill $(jobs -p) 2>/dev/null || true' EXIT

# this script runs on the first node
address=$(hostname --ip-address | awk '{print $1}')
first=$(hostname --short)
cpus=$SLURM_CPUS_PER_TASK
common=(--block --disable-usage-stats --num-cpus="$cpus")

# --overlap: the study itself needs no core of its own
srun --overlap --nodes=1 --ntasks=1 --nodelist="$first" \
  ray start --head --port="$port" --node-ip-address="$address" --include-dashboard=false \
  "${common[@]}" &
until (exec 3<>"/dev/tcp/$address/$port") 2>/dev/null; do sleep 1; done

others=$((SLURM_JOB_NUM_NODES - 1))
if ((others > 0)); then
  # a node that fails must not end the others
  srun --overlap --nodes="$others" --ntasks="$others" --exclude="$first" --kill-on-bad-exit=0 \
    ray start --address="$address:$port" "${common[@]}" &
fi

# Slurm sends SIGTERM five minutes before the end: rounds under way are finished and kept
archloom run "$study" --out "$out" --address "$address:$port" \
  --log "archloom-$SLURM_JOB_ID.jsonl" &
work=$!
trap 'kill -TERM $work' TERM
# a signal ends the first wait, not the work
wait "$work" || wait "$work"
