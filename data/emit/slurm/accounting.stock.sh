ensure qos high
run modify qos high set Priority=100
ensure qos normal
run modify qos normal set Priority=50
