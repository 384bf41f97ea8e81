// librados with a cluster in memory: a library of its name that the product loads in its stead
// (simulated_librados.cpp), and what a test says to it and hears of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace orrery::rados {

struct SimulatedLibrados {
  // By the name of the call, without "rados_": what it gives in place of doing anything. "complete"
  // is what an append that was sent comes back with.
  std::map<std::string, int> codes;
  std::map<std::string, int> times;  // calls by the same names
  std::map<std::string, std::string> objects;
  std::map<std::string, std::string> options;
  std::string cluster;
  std::string user;
  std::string conf;
  std::string pool = "hot";  // the one that is there
  std::string space;
  std::vector<std::string> commands;
  std::string answer;  // of the monitors
  std::uint64_t alignment = 0;
  bool tries_when_full = false;
  std::function<void()> connecting;
  int held = 0;  // what was made and not given back: connections, operations, walks, buffers
};

}  // namespace orrery::rados

// The only one; a test finds it by this name in the library.
extern "C" orrery::rados::SimulatedLibrados* orrery_simulated_librados();
