ensure qos @qos@
run modify qos @qos@ set @set@
run modify cluster @cluster@ set QosLevel+=@qos@
