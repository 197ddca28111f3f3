#include "kith/serve/client_counts.h"

#include <gtest/gtest.h>

namespace kith {
namespace {

TEST(ClientCounts, KeepsAccountOfEach) {
  ClientCounts counts;
  counts.add_connections("192.0.2.1", 1);
  counts.add_connections("192.0.2.1", 1);
  counts.add_connections("192.0.2.2", 1);
  EXPECT_EQ(counts.connections("192.0.2.1"), 2);
  EXPECT_EQ(counts.connections("192.0.2.2"), 1);
  EXPECT_EQ(counts.connections("192.0.2.3"), 0);
  EXPECT_EQ(counts.add_body_bytes("192.0.2.1", 100), 100);
  EXPECT_EQ(counts.add_body_bytes("192.0.2.1", 50), 150);
  counts.add_connections("192.0.2.1", -2);
  EXPECT_EQ(counts.connections("192.0.2.1"), 0);
  EXPECT_EQ(counts.add_body_bytes("192.0.2.1", -150), 0);
}

TEST(ClientCounts, ThisMachineHasNoLimits) {
  ClientCounts counts;
  counts.add_connections("", 1);
  EXPECT_EQ(counts.connections(""), 0);
  EXPECT_EQ(counts.add_body_bytes("", 100), 0);
}

}  // namespace
}  // namespace kith
