# Writes the completions of bash, zsh and fish that PROGRAM makes into FOLDER.
foreach(shell bash zsh fish)
  execute_process(COMMAND ${PROGRAM} completion ${shell}
    OUTPUT_FILE ${FOLDER}/kith.${shell} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
