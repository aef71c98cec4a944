-- A session in Neovim: an error is shown, mended, and gone; then what else the server does. Every wait is for a condition.

local function say(text)
  io.stdout:write(text, "\n")
end

local function wait(what, condition)
  if not vim.wait(60000, condition, 10) then
    say("TIMEOUT: " .. what)
    vim.cmd("cquit")
  end
end

local function ask(method, line, character)
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(0) },
    position = { line = line, character = character },
    options = { tabSize = 2, insertSpaces = true },
  }
  local answers = vim.lsp.buf_request_sync(0, method, params, 60000) or {}
  for _, answer in pairs(answers) do
    return answer.result
  end
end

vim.cmd("edit shapes.cure")
wait("an error", function() return #vim.diagnostic.get(0) == 1 end)
local found = vim.diagnostic.get(0)[1]
say(string.format("line %d: %s", found.lnum + 1, found.message))

vim.api.nvim_buf_set_text(0, 3, 20, 3, 26, { "Int" })
wait("no error", function() return #vim.diagnostic.get(0) == 0 end)
say("mended: " .. vim.api.nvim_buf_get_lines(0, 3, 4, false)[1])

say("hover: " .. ask("textDocument/hover", 3, 35).contents.value)
local place = ask("textDocument/definition", 3, 35)
say(string.format("definition: %s line %d", vim.uri_to_fname(place.uri), place.range.start.line + 1))

vim.api.nvim_buf_set_text(0, 3, 26, 3, 27, { "  n" })
vim.api.nvim_buf_set_text(0, 3, 2, 3, 2, { "  " })
local format = vim.lsp.buf.formatting_sync or vim.lsp.buf.format
format(nil, 60000)
say("formatted: " .. vim.api.nvim_buf_get_lines(0, 3, 4, false)[1])

vim.api.nvim_buf_set_lines(0, 4, 4, false, { "  def more(): Int = ar" })
local proposals = ask("textDocument/completion", 4, 22)
say("completion: " .. (proposals.items or proposals)[1].label)

vim.cmd("qall!")
