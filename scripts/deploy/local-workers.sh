#!/bin/bash
# Trains with several workers on this machine, to try out a training on several machines:
#   bash scripts/deploy/local-workers.sh 2 nmt train --name mine ...
# Worker 0 reports the progress. PORT (default 42000) and the ports behind it must be free. Ctrl-C stops all workers.
# TensorFlow's workers listen on every interface of the machine, so use a machine behind a firewall.
set -euo pipefail

count=$1
shift
addresses=()
for ((index = 0; index < count; index++)); do
    addresses+=("\"127.0.0.1:$((${PORT:-42000} + index))\"")
done
workers=$(IFS=,; echo "${addresses[*]}")

pids=()
trap 'kill -TERM "${pids[@]}" 2>/dev/null || true' INT TERM
for ((index = 0; index < count; index++)); do
    TF_CONFIG="{\"cluster\": {\"worker\": [$workers]}, \"task\": {\"type\": \"worker\", \"index\": $index}}" "$@" &
    pids+=($!)
done

code=0
for pid in "${pids[@]}"; do
    while wait "$pid" && ended=0 || ended=$? && kill -0 "$pid" 2>/dev/null; do
        : # a signal to this script has ended `wait` early
    done
    ((ended == 0)) || code=$ended
done
exit "$code"
