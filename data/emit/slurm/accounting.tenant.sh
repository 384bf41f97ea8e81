ensure account @tenant@ Description=@tenant@ Organization=@tenant@
run modify account @tenant@ set Fairshare=@share@ GrpTRES=gres/gpu=@gpus@
