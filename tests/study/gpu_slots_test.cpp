#include "kith/study/gpu_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(VisibleGpus, AreNumbersOrThoseOfTheList) {
  EXPECT_THAT(visible_gpus({}, 0), IsEmpty());
  EXPECT_THAT(visible_gpus({}, 3), ElementsAre("0", "1", "2"));
  EXPECT_THAT(visible_gpus("4,7", 2), ElementsAre("4", "7"));
  EXPECT_THAT(visible_gpus("GPU-8932f937,GPU-1", 2),
              ElementsAre("GPU-8932f937", "GPU-1"));
  // CUDA sees what comes before a name that is no GPU's.
  EXPECT_THAT(visible_gpus("5,2,-1,3", 2), ElementsAre("5", "2"));
  EXPECT_THAT(visible_gpus("", 0), IsEmpty());
  // A list that does not fit is not trusted.
  EXPECT_THAT(visible_gpus("1", 2), ElementsAre("0", "1"));
}

TEST(GpuSlots, AreTakenInTurns) {
  EXPECT_THAT(gpu_slots({"0", "1", "2", "3"}, 4, 1),
              ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(gpu_slots({"0", "1", "2"}, 2, 1), ElementsAre("0", "1"));
  EXPECT_THAT(gpu_slots({"4", "7"}, 5, 1),
              ElementsAre("4", "7", "4", "7", "4"));
}

TEST(GpuSlots, GiveEachRankAGpu) {
  EXPECT_THAT(gpu_slots({"0", "1", "2", "3"}, 2, 2), ElementsAre("0,1", "2,3"));
  EXPECT_THAT(gpu_slots({"0", "1", "2"}, 3, 2),
              ElementsAre("0,1", "2,0", "1,2"));
}

TEST(GpuSlots, SayNothingWhereAllHaveAll) {
  EXPECT_THAT(gpu_slots({}, 3, 1), IsEmpty());
  EXPECT_THAT(gpu_slots({"0"}, 3, 1), IsEmpty());
  EXPECT_THAT(gpu_slots({"0", "1"}, 3, 2), IsEmpty());
  EXPECT_THAT(gpu_slots({"0", "1"}, 3, 4), IsEmpty());
}

}  // namespace
}  // namespace kith
