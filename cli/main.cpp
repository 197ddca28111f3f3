#include <csignal>
#include <cstdio>
#include <new>

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include "cli/build_info.h"
#include "cli/common.h"
#include "cli/rank_flags.h"
#include "cli/this_rank.h"
#include "cli/usage.h"
#include "kith/core/device.h"
#include "kith/core/error.h"
#include "kith/core/other_names.h"
#include "kith/core/quote.h"
#include "kith/core/unknown_name.h"
#include "kith/core/with_parent.h"
#include "kith/data/data_set.h"
#include "kith/ops/no_memory.h"
#include "kith/run/run_place.h"

namespace {

constexpr const char* kFooter = R"(Exit codes
  0     done
  1     it failed: files that cannot be used, a run that cannot go on
  2     wrong usage or a wrong configuration
  130   interrupted (Ctrl-C, SIGINT)
  143   terminated (SIGTERM)

kith COMMAND --help says more; kith completion SHELL completes commands.)";

std::string version_text() {
  return std::string("kith ") + kith::kVersion + "\n" + "LibTorch " +
         kith::torch_description() + "\n" +
         "Google Benchmark: " + kith::kBenchmark + "\n" +
         "Boost: " + kith::kBoost + "\n" + "faiss: " + kith::kFaiss + "\n" +
         "libwebp: " + kith::kWebp + "\n" + "libtiff: " + kith::kTiff + "\n" +
         "ranks: " + kith::engines_text();
}

/// Loads a library whose parts register themselves. It stays loaded: the
/// registries keep what it made.
void load_plugin(const std::string& path) {
  // A name without a slash would be looked for in the system's folders.
  const std::string file =
      path.find('/') == std::string::npos ? "./" + path : path;
  if (dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    throw kith::ConfigError("--plugin " + path +
                            ": not a library that can be loaded: " + dlerror());
  }
  kith::loaded_plugins().push_back(path);
}

/// What else may be wrong with the name of a part: it is a plug-in's.
std::string plugin_hint(const kith::UnknownName& error) {
  const bool is_known_elsewhere =
      !kith::kith_calls_it(error.kind(), error.name()).empty();
  if (is_known_elsewhere || !kith::is_part_kind(error.kind())) return "";
  return kith::loaded_plugins().empty()
             ? " If a plug-in has it, name that: kith --plugin FILE COMMAND ..."
             : " Nor does a library of --plugin have it.";
}

/// One line, whatever names are in the message.
int fail(int status, const std::string& message) {
  const std::string text = kith::printable(kith::flag_words(message));
  kith::progress_bar().erase();
  std::fprintf(stderr, "kith: %s%s\n", kith::rank_prefix().c_str(),
               text.c_str());
  return kith::end_failed_rank(status, text);
}

/// The same for a message of several lines.
int fail_at_length(int status, const std::string& message) {
  const std::string text = kith::printable_lines(message);
  kith::progress_bar().erase();
  std::fprintf(stderr, "kith: %s%s\n", kith::rank_prefix().c_str(),
               text.c_str());
  return kith::end_failed_rank(status, text.substr(0, text.find('\n')));
}

/// A rank that ends because of another, which says why itself if it can.
int follow(const kith::RankError& error) {
  std::string text = error.what();
  const kith::RankPlace& place = kith::this_place();
  const std::string mine = "rank " + std::to_string(place.rank) + " of " +
                           std::to_string(place.size) + ": ";
  if (text.starts_with(mine)) text.erase(0, mine.size());
  if (dynamic_cast<const kith::RankFailed*>(&error) != nullptr) {
    text = "stops: " + text.substr(0, text.find(':'));
  }
  return fail(kith::wait_as_follower(), text);
}

/// For an image that cannot be read: there may be more.
constexpr const char* kCheckHint =
    ". 'kith data check' names all such images; kith eval, embed and index "
    "leave them out with --on-broken skip";

constexpr const char* kNoMemory =
    "not enough memory: the machine, or what it allows this program (ulimit, a "
    "container), has none left. Close other programs, or give it less to do at "
    "a time (train.sub_batch, --batch, --memory-mb)";

/// The flags that say where a path of a configuration leads.
std::string flags_for(const std::string& key) {
  const std::string set = ": --set " + key + "=PATH";
  if (key != "data.path") return set;
  return set + " (kith train), --data (kith eval) or --images (kith index)";
}

/// Everything that can be typed.
void add_words(CLI::App& app) {
  app.set_version_flag("--version", version_text,
                       "Versions of kith and what it was built with");
  app.require_subcommand(1);
  app.footer(kFooter);
  // Runs before any command, whose configuration may name what is in there.
  app.add_option_function<std::vector<std::string>>(
         "--plugin",
         [](const std::vector<std::string>& files) {
           for (const std::string& file : files) load_plugin(file);
         },
         "A library with losses or other parts of your own; before the "
         "command")
      ->type_name("FILE")
      ->allow_extra_args(false);
  kith::install_log();
  kith::add_demo(app);
  kith::add_data(app);
  kith::add_train(app);
  kith::add_sweep(app);
  kith::add_folds(app);
  kith::add_eval(app);
  kith::add_report(app);
  kith::add_embed(app);
  kith::add_export(app);
  kith::add_index(app);
  kith::add_search(app);
  kith::add_serve(app);
  kith::add_metrics(app);
  kith::add_loss(app);
  kith::add_bench(app);
  kith::add_plot(app);
  kith::add_list(app);
  kith::add_completion(app);
}

}  // namespace

/// What launch.cpp calls.
extern "C" int kith_main(int argc, char** argv) {
  kith::end_with_parent();
  kith::remember_arguments(argc, argv);
  // A file that may not grow (ulimit -f) is an error of the one who writes it.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("kith: train, evaluate and look at image-retrieval embeddings");
  try {
    add_words(app);
    app.parse(argc, argv);
    kith::leave_ranks();
    return 0;
  } catch (const kith::ProgramEnd& end) {
    kith::leave_ranks();
    return end.status;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    return fail_at_length(2, kith::usage_problem(app, error));
  } catch (const kith::UnknownName& error) {
    return fail(2, error.what() + plugin_hint(error));
  } catch (const kith::ConfigError& error) {
    return fail(2, error.what());
  } catch (const kith::RankError& error) {
    return follow(error);
  } catch (const kith::BrokenImageError& error) {
    return fail(1, std::string(error.what()) + kCheckHint);
  } catch (const kith::MissingPath& error) {
    return fail(1, error.what() + flags_for(error.key()));
  } catch (const std::bad_alloc&) {
    return fail(1, kNoMemory);
  } catch (const c10::Error& error) {
    if (kith::is_no_memory(error)) return fail(1, kNoMemory);
    return fail_at_length(1, error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(1, error.what());
  }
}
