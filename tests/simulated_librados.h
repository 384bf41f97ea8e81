// librados with a cluster in memory: a library with the same name that the product loads instead
// (simulated_librados.cpp), and the state through which a test configures and observes it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace orrery::rados {

struct SimulatedLibrados {
  // By the name of the call, without "rados_": the code to return instead of doing anything.
  // "complete" is the result of an append that was sent.
  std::map<std::string, int> codes;
  std::map<std::string, int> times;  // number of calls by the same names
  std::map<std::string, std::string> objects;
  std::map<std::string, std::string> options;
  std::string cluster;
  std::string user;
  std::string conf;
  std::string pool = "hot";  // the pool that exists
  std::string space;
  std::vector<std::string> commands;
  std::string answer;  // answer of the monitors
  std::uint64_t alignment = 0;
  bool tries_when_full = false;
  std::function<void()> connecting;
  int held = 0;  // objects created and not released yet: connections, operations, walks, buffers
};

}  // namespace orrery::rados

// The only instance; a test finds it by this name in the library.
extern "C" orrery::rados::SimulatedLibrados* orrery_simulated_librados();
