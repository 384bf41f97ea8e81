ensure qos preemptible
run modify qos preemptible set Priority=0 PreemptMode=requeue
run modify qos high set Preempt=preemptible
run modify qos normal set Preempt=preemptible
