// A pool of a Ceph cluster, by librados.
//
//   rados:POOL/NAMESPACE[?conf=FILE][&user=NAME][&keyring=FILE]
// conf is /etc/ceph/ceph.conf, the user client.orrery, and the keyring where the configuration has
// it, unless the address names them. The library is loaded when the first pool is used (docs/
// decisions/librados.md), so a store without a pool does not need it.
//
// The first call connects to the cluster, and later calls try again if that failed; a call that
// finds another one connecting returns `silent` at once. Monitors have five seconds to answer,
// disks ten.
#pragma once

#include "core/base/diagnostic.h"
#include "live/drives/pool.h"

namespace orrery::drives {

struct PoolPlace {
  std::string pool;
  std::string space;  // the namespace; never the default one, because other programs may use that
  std::string conf = "/etc/ceph/ceph.conf";
  std::string user = "client.orrery";
  std::string keyring = {};  // empty: as in the configuration

  bool operator==(const PoolPlace&) const = default;
};
bool is_pool_place(std::string_view text);
Result<PoolPlace> pool_place_of(const std::string& text);

std::unique_ptr<Pool> open_ceph_pool(const PoolPlace& place);

}  // namespace orrery::drives
