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

struct ExponentialScheduleOptions {
  double warmup_epochs = 0.0;
  double gamma = 0.99;
  double every = 1.0;

  void describe(OptionSet& set);
};

/// gamma^floor(epoch / every): PyTorch's ExponentialLR, which falls at the end
/// of each epoch. Radenovic et al. (2019) have gamma = exp(-0.01).
class ExponentialSchedule final : public Schedule {
 public:
  static constexpr const char* kSummary =
      "the rate is multiplied by gamma after every epoch";
  using Options = ExponentialScheduleOptions;

  explicit ExponentialSchedule(Options options = {});
  double factor(double epoch, double epochs) const override;

 private:
  Options options_;
};

struct WarmRestartsScheduleOptions {
  double warmup_epochs = 0.0;
  double first_epochs = 10.0;
  double growth = 1.0;
  double final_factor = 0.0;

  void describe(OptionSet& set);
};

/// SGDR (Loshchilov & Hutter, 2017): T_0 is first_epochs, T_mult is growth.
class WarmRestartsSchedule final : public Schedule {
 public:
  static constexpr const char* kSummary =
      "half a cosine again and again (SGDR; Loshchilov & Hutter, 2017)";
  using Options = WarmRestartsScheduleOptions;

  explicit WarmRestartsSchedule(Options options = {});
  double factor(double epoch, double epochs) const override;

 private:
  Options options_;
};

struct OneCycleScheduleOptions {
  double warmup_epochs = 0.0;
  double rise = 0.3;
  double start_factor = 0.04;
  double final_factor = 4e-6;

  void describe(OptionSet& set);
};

/// One cycle (Smith & Topin, 2018) in half cosines, with the numbers of
/// PyTorch's OneCycleLR: pct_start 0.3, div_factor 25, final_div_factor 1e4.
/// Momentum stays.
class OneCycleSchedule final : public Schedule {
 public:
  static constexpr const char* kSummary =
      "the rate rises to the full one, then falls to nearly nothing (Smith & "
      "Topin, 2018)";
  using Options = OneCycleScheduleOptions;

  explicit OneCycleSchedule(Options options = {});
  double factor(double epoch, double epochs) const override;

 private:
  Options options_;
};

}  // namespace kith
