// `kith completion`: the scripts as shells run them.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/path.h"
#include "tests/cli/run_program.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CompletionCommand : public ::testing::Test {
 protected:
  std::string script(const std::string& shell) {
    return dir_.write("kith." + shell,
                      expect_success({"completion", shell}).out);
  }

  /// A shell where it is usually installed; empty if it is not.
  static std::string find_shell(const std::string& name) {
    for (const char* folder : {"/bin/", "/usr/bin/", "/usr/local/bin/"}) {
      if (path_exists(folder + name)) return folder + name;
    }
    return "";
  }

  static std::string run_shell(const std::string& shell,
                               const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {shell};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const ProgramResult result = run_program(argv);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return "\n" + result.out;
  }

  /// What bash offers for a command line whose last word is being typed.
  std::string in_bash(const std::string& words) {
    const std::string code = "source " + script("bash") + "; COMP_WORDS=(" +
                             words +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _kith; "
                             "printf '%s\\n' \"${COMPREPLY[@]}\"";
    return run_shell(find_shell("bash"), {"-c", code});
  }

  TempDir dir_;
};

TEST_F(CompletionCommand, BashCompletesCommandsOptionsAndValues) {
  if (find_shell("bash").empty()) GTEST_SKIP() << "there is no bash";
  EXPECT_EQ(in_bash("kith tra"), "\ntrain\n");
  EXPECT_THAT(in_bash("kith ''"),
              AllOf(HasSubstr("\nsearch\n"), HasSubstr("\ncompletion\n")));
  EXPECT_EQ(in_bash("kith data che"), "\ncheck\n");
  EXPECT_EQ(in_bash("kith data make gly"), "\nglyphs\n");
  EXPECT_EQ(in_bash("kith search --mod"), "\n--model\n");
  EXPECT_EQ(in_bash("kith list los"), "\nlosses\n");
  EXPECT_EQ(in_bash("kith bench x --precision float6"), "\nfloat64\n");
  EXPECT_EQ(in_bash("kith bench x --precision = float6"), "\nfloat64\n");
  // A file: bash completes it.
  EXPECT_EQ(in_bash("kith search --index a"), "\n\n");
  EXPECT_THAT(in_bash("kith --"), HasSubstr("\n--plugin\n"));
}

TEST_F(CompletionCommand, FishCompletesCommandsOptionsAndValues) {
  const std::string fish = find_shell("fish");
  if (fish.empty()) GTEST_SKIP() << "there is no fish";
  const std::string file = script("fish");
  const auto in_fish = [&](const std::string& line) {
    return run_shell(fish, {"--no-config", "-c",
                            "source " + file + "; complete -C '" + line + "'"});
  };
  EXPECT_THAT(in_fish("kith tra"), HasSubstr("\ntrain\t"));
  EXPECT_THAT(in_fish("kith data "),
              AllOf(HasSubstr("\ncheck\t"), Not(HasSubstr("\ntrain"))));
  EXPECT_THAT(in_fish("kith search --mod"), HasSubstr("\n--model\t"));
  EXPECT_THAT(in_fish("kith bench x --precision "),
              AllOf(HasSubstr("\nfloat32"), HasSubstr("\nfloat64")));
}

TEST_F(CompletionCommand, ZshCompletesCommandsOptionsAndValues) {
  const std::string zsh = find_shell("zsh");
  if (zsh.empty()) GTEST_SKIP() << "there is no zsh";
  const std::string file = script("zsh");
  // What the script gives to the functions of zsh's completion, which needs a
  // terminal.
  const auto in_zsh = [&](const std::string& words) {
    return run_shell(
        zsh, {"-f", "-c",
              "compdef() { }; compadd() { shift; print -l -- \"$@\" }; "
              "_files() { print files }; "
              "_describe() { print -l -- \"${(P@)@[-1]}\" }; "
              "source " +
                  file + "; words=(" + words + "); CURRENT=$#words; _kith"});
  };
  EXPECT_THAT(in_zsh("kith tra"), HasSubstr("\ntrain:"));
  EXPECT_THAT(in_zsh("kith data ''"),
              AllOf(HasSubstr("\ncheck:"), Not(HasSubstr("\ntrain:"))));
  EXPECT_THAT(in_zsh("kith search --mod"), HasSubstr("\n--model:"));
  EXPECT_EQ(in_zsh("kith bench x --precision ''"), "\nfloat32\nfloat64\n");
  EXPECT_EQ(in_zsh("kith search --index ''"), "\nfiles\n");
}

TEST_F(CompletionCommand, OtherShellsAreRefused) {
  expect_failure(2, {"completion", "tcsh"},
                 {"must be one of bash, zsh, fish", "got 'tcsh'"});
}

}  // namespace
}  // namespace kith
