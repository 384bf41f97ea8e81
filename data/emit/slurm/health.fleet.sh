  @fleet@-[0-9]*) gpus=@gpus@ vendor=@vendor@ nvlink=@nvlink@ devices=@devices@ ;;
