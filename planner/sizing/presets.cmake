# The presets of sizing/presets as one generated source: HEDDLE_SIZING_PRESETS.
set(HEDDLE_SIZING_PRESETS "${HEDDLE_GENERATED_DIR}/planner/preset_texts.cc")
set(sizing_presets "${CMAKE_CURRENT_LIST_DIR}/presets")
add_custom_command(
  OUTPUT "${HEDDLE_SIZING_PRESETS}"
  COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/embed.py" "${HEDDLE_SIZING_PRESETS}"
          "kModelPresets=${sizing_presets}/models.toml" "kGpuPresets=${sizing_presets}/gpus.toml"
          "kFabricPresets=${sizing_presets}/fabrics.toml"
  DEPENDS "${CMAKE_CURRENT_LIST_DIR}/embed.py" "${sizing_presets}/models.toml"
          "${sizing_presets}/gpus.toml" "${sizing_presets}/fabrics.toml"
  COMMENT "Embedding presets of models, GPUs and fabrics"
  VERBATIM)
