#!/bin/bash
#@stamp@
# Tenants, their quotas and the qualities of service, in slurmdbd. Run it once slurmdbd
# is up, and again after a change: what is there is only brought up to date.
set -u
run() { sacctmgr --immediate "$@" || echo "sacctmgr $* failed" >&2; }
# Adding what is there says "nothing new" and fails, which is no fault here.
ensure() { sacctmgr --immediate add "$@" >/dev/null 2>&1; true; }

ensure cluster @cluster@
#@stock@
#@preemption@
#@qos@
#@preempts@
#@tenants@
