# cmake -DPROGRAM=kith -DVERSION=0.1.0 -DOUT=kith.1 -P KithManPage.cmake
# Writes the manual page: what `kith --help` and the help of every command say.

# What `kith ARGN --help` says.
function(read_help out)
  execute_process(COMMAND ${PROGRAM} ${ARGN} --help OUTPUT_VARIABLE help
    COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "${PROGRAM}" kith help "${help}") # not where it was built
  string(STRIP "${help}" help)
  set(${out} "${help}" PARENT_SCOPE)
endfunction()

# roff takes a backslash for an escape, a dot that begins a line for a request,
# and makes other characters of hyphens, quotes and accents.
function(escape_roff out text)
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  string(REPLACE "'" "\\(aq" text "${text}")
  string(REPLACE "`" "\\(ga" text "${text}")
  string(REPLACE "^" "\\(ha" text "${text}")
  string(REPLACE "~" "\\(ti" text "${text}")
  string(REGEX REPLACE "(^|\n)[.]" "\\1\\\\&." text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# The names of the commands that a help lists.
function(find_commands out help)
  set(names "")
  string(FIND "${help}" "\nSubcommands:\n" place)
  if(NOT place EQUAL -1)
    string(SUBSTRING "${help}" ${place} -1 help)
    string(REGEX MATCHALL "\n  [a-z][a-z_-]*" lines "${help}")
    foreach(line IN LISTS lines)
      string(STRIP "${line}" name)
      list(APPEND names ${name})
    endforeach()
  endif()
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

# A section for the command ARGN; `commands` are those it has itself.
function(describe_command out commands)
  read_help(help ${ARGN})
  escape_roff(escaped "${help}")
  string(JOIN " " name kith ${ARGN})
  escape_roff(name "${name}")
  find_commands(found "${help}")
  set(${out} ".SS ${name}\n.nf\n${escaped}\n.fi\n" PARENT_SCOPE)
  set(${commands} "${found}" PARENT_SCOPE)
endfunction()

read_help(help)
escape_roff(escaped "${help}")
set(page ".TH KITH 1 \"\" \"kith ${VERSION}\" \"User Commands\"
.SH NAME
kith \\- train, evaluate and search image\\-retrieval embeddings
.SH SYNOPSIS
.B kith
.I COMMAND
[\\fIOPTION\\fR]...
.SH DESCRIPTION
.nf
${escaped}
.fi
.SH COMMANDS
")
find_commands(commands "${help}")
foreach(command IN LISTS commands)
  describe_command(text parts ${command})
  string(APPEND page "${text}")
  foreach(part IN LISTS parts)
    describe_command(text none ${command} ${part})
    string(APPEND page "${text}")
  endforeach()
endforeach()
string(APPEND page ".SH SEE ALSO
.B kith list
shows what can be named in a configuration, and
.B kith list recipes
the recipes that are installed. Programs that use the library are in
.I share/doc/kith/examples
below the folder where kith is installed.
")
file(WRITE ${OUT} "${page}")
