#pragma once

#include <vector>

#include "kith/train/schedule.h"

namespace kith {

struct ConstantScheduleOptions {
  double warmup_epochs = 0.0;

  void describe(OptionSet& set);
};

class ConstantSchedule final : public Schedule {
 public:
  static constexpr const char* kSummary = "the rate stays";
  using Options = ConstantScheduleOptions;

  explicit ConstantSchedule(Options options = {});
  double factor(double epoch, double epochs) const override;

 private:
  Options options_;
};

struct CosineScheduleOptions {
  double warmup_epochs = 0.0;
  double final_factor = 0.0;

  void describe(OptionSet& set);
};

class CosineSchedule final : public Schedule {
 public:
  static constexpr const char* kSummary =
      "half a cosine from the full rate to final_factor";
  using Options = CosineScheduleOptions;

  explicit CosineSchedule(Options options = {});
  double factor(double epoch, double epochs) const override;

 private:
  Options options_;
};

struct StepScheduleOptions {
  double warmup_epochs = 0.0;
  std::vector<double> milestones = {};
  double gamma = 0.3;

  void describe(OptionSet& set);
};

class StepSchedule final : public Schedule {
 public:
  static constexpr const char* kSummary =
      "the rate is multiplied by gamma at each milestone";
  using Options = StepScheduleOptions;

  explicit StepSchedule(Options options = {});
  double factor(double epoch, double epochs) const override;

 private:
  Options options_;
};

}  // namespace kith
