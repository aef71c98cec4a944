%% Runs inside of a long-lived Erlang VM for tests: loads modules, calls their functions, validates assembly, reads
%% chunks and disassembles. Requests come in packets on standard input, answers leave on standard output; what programs print goes to a
%% group leader of their own. mod.rs speaks the other side.
-module(driver).
-export([start/0]).

start() ->
    Port = open_port({fd, 0, 1}, [binary, {packet, 4}, eof]),
    loop(Port, #{}).

loop(Port, Loaded) ->
    receive
        {Port, {data, <<Kind, Count:32, Rest/binary>>}} ->
            {Answers, NowLoaded} = requests(Kind, Count, Rest, Loaded, []),
            port_command(Port, Answers),
            loop(Port, NowLoaded);
        {Port, eof} ->
            halt(0, [{flush, false}]);
        _ ->
            loop(Port, Loaded)
    end.

requests(_, 0, <<>>, Loaded, Answers) ->
    {lists:reverse(Answers), Loaded};
requests($r, Count, Bin, Loaded, Answers) ->
    {Modules, <<Ms:32, Bin1/binary>>} = modules(Bin),
    {Module, Bin2} = text(Bin1),
    {Function, Bin3} = text(Bin2),
    {Input, Rest} = text(Bin3),
    {Answer, NowLoaded} = run(Modules, Module, Function, Input, Ms, Loaded),
    requests($r, Count - 1, Rest, NowLoaded, [Answer | Answers]);
requests($v, Count, Bin, Loaded, Answers) ->
    {Assembly, Rest} = text(Bin),
    requests($v, Count - 1, Rest, Loaded, [said(fun() -> validate(Assembly) end) | Answers]);
requests($c, Count, Bin, Loaded, Answers) ->
    {Beam, Rest} = text(Bin),
    requests($c, Count - 1, Rest, Loaded, [said(fun() -> chunks(Beam) end) | Answers]);
requests($d, Count, Bin, Loaded, Answers) ->
    {Beam, Rest} = text(Bin),
    requests($d, Count - 1, Rest, Loaded, [said(fun() -> disassemble(Beam) end) | Answers]).

text(<<Size:32, Text:Size/binary, Rest/binary>>) -> {Text, Rest}.

modules(<<Count:32, Bin/binary>>) -> modules(Count, Bin, []).

modules(0, Bin, Modules) ->
    {lists:reverse(Modules), Bin};
modules(Count, Bin, Modules) ->
    {Name, Bin1} = text(Bin),
    {Beam, Rest} = text(Bin1),
    modules(Count - 1, Rest, [{binary_to_atom(Name), Beam} | Modules]).

answer(Status, Result, Output) ->
    [Status, sized(Result), sized(Output)].

sized(Text) ->
    Bin = case unicode:characters_to_binary(Text) of B when is_binary(B) -> B; _ -> iolist_to_binary(Text) end,
    [<<(byte_size(Bin)):32>>, Bin].

%% On one line, as the shell would write it if it took every UTF-8 binary for text and only Latin-1 lists.
show([]) -> "[]";
show(List) when is_list(List) ->
    case io_lib:printable_latin1_list(List) of
        true -> ["\"", escaped(List), "\""];
        false -> ["[", elements(List), "]"]
    end;
show(Tuple) when is_tuple(Tuple) ->
    ["{", lists:join(",", [show(Element) || Element <- tuple_to_list(Tuple)]), "}"];
show(<<>>) -> "<<>>";
show(Bin) when is_binary(Bin) ->
    Chars = unicode:characters_to_list(Bin),
    case is_list(Chars) andalso lists:all(fun is_text/1, Chars) of
        true -> ["<<\"", escaped(Chars), "\"", ["/utf8" || lists:any(fun(C) -> C > 127 end, Chars)], ">>"];
        false -> ["<<", lists:join(",", [integer_to_list(Byte) || <<Byte>> <= Bin]), ">>"]
    end;
show(Map) when is_map(Map) ->
    ["#{", lists:join(",", [[show(K), " => ", show(V)] || {K, V} <- lists:sort(maps:to_list(Map))]), "}"];
show(Term) -> io_lib:format("~0tp", [Term]).

elements([Head | Tail]) when Tail =:= [] -> [show(Head)];
elements([Head | Tail]) when is_list(Tail) -> [show(Head), ",", elements(Tail)];
elements([Head | Tail]) -> [show(Head), "|", show(Tail)].

is_text(C) -> lists:member(C, "\n\t\r") orelse not (C < 32 orelse (C >= 127 andalso C < 160)).

escaped(Chars) -> [escape(C) || C <- Chars].

escape($\n) -> "\\n";
escape($\t) -> "\\t";
escape($\r) -> "\\r";
escape($\b) -> "\\b";
escape($\v) -> "\\v";
escape($\f) -> "\\f";
escape($\e) -> "\\e";
escape($\\) -> "\\\\";
escape($") -> "\\\"";
escape(C) -> C.

said(Fun) ->
    try Fun() of
        ok -> answer(0, "", "");
        {ok, Text} -> answer(0, Text, "");
        {error, Text} -> answer(1, Text, "")
    catch
        Class:Reason:Stack -> answer(1, show({Class, Reason, Stack}), "")
    end.

%% Modules stay loaded until a program has others of their name: to purge them takes longer than all else.
run(Modules, Module, Function, Input, Ms, Loaded) ->
    case load(Modules, Loaded) of
        {ok, NowLoaded} -> {call(binary_to_atom(Module), binary_to_atom(Function), Input, Ms), NowLoaded};
        {error, Text, NowLoaded} -> {answer(2, Text, ""), NowLoaded}
    end.

load([], Loaded) ->
    {ok, Loaded};
load([{Name, Beam} | Rest], Loaded) ->
    case Loaded of
        #{Name := Beam} ->
            load(Rest, Loaded);
        _ ->
            code:purge(Name),
            case code:load_binary(Name, atom_to_list(Name) ++ ".beam", Beam) of
                {module, Name} -> load(Rest, Loaded#{Name => Beam});
                {error, Reason} -> {error, show({Name, Reason}), maps:remove(Name, Loaded)}
            end
    end.

%% What a program started ends with it: thousands of programs leave nothing behind.
call(Module, Function, Input, Ms) ->
    Leader = spawn_link(fun() -> leader([], Input) end),
    Body = fun() ->
        group_leader(Leader, self()),
        Ended =
            try Module:Function() of
                Value -> {0, show(Value)}
            catch
                error:Reason -> {1, show(Reason)};
                Class:Reason -> {1, show({Class, Reason})}
            end,
        exit({ended, Ended})
    end,
    {Pid, Monitor} = spawn_opt(Body, [monitor, {max_heap_size, #{size => 64 bsl 20, kill => true, error_logger => false}}]),
    {Status, Result} =
        receive
            {'DOWN', Monitor, process, Pid, {ended, Ended}} -> Ended;
            {'DOWN', Monitor, process, Pid, Why} -> {1, show(Why)}
        after Ms ->
            exit(Pid, kill),
            receive {'DOWN', Monitor, process, Pid, _} -> ok end,
            {3, "still running"}
        end,
    [exit(Left, kill) || Left <- processes(), Left =/= Leader, process_info(Left, group_leader) =:= {group_leader, Leader}],
    Leader ! {self(), finish},
    Output = receive {Leader, Text} -> Text end,
    answer(Status, Result, Output).

%% An io server that keeps what is written and gives the lines of the input.
leader(Written, Input) ->
    receive
        {From, finish} ->
            From ! {self(), lists:reverse(Written)};
        {io_request, From, As, Request} ->
            {Reply, More, Left} = io(Request, Input),
            From ! {io_reply, As, Reply},
            leader([More | Written], Left);
        _ ->
            leader(Written, Input)
    end.

io({put_chars, Encoding, Chars}, Input) ->
    case unicode:characters_to_binary(Chars, Encoding) of
        Text when is_binary(Text) -> {ok, Text, Input};
        _ -> {{error, put_chars}, <<>>, Input}
    end;
io({put_chars, Encoding, M, F, A}, Input) -> io({put_chars, Encoding, apply(M, F, A)}, Input);
io({put_chars, Chars}, Input) -> io({put_chars, latin1, Chars}, Input);
io({put_chars, M, F, A}, Input) -> io({put_chars, latin1, apply(M, F, A)}, Input);
io({requests, Requests}, Input) ->
    lists:foldl(
        fun(Request, {_, Text, Left}) ->
            {Reply, More, Rest} = io(Request, Left),
            {Reply, <<Text/binary, More/binary>>, Rest}
        end,
        {ok, <<>>, Input},
        Requests
    );
io({get_line, _, Prompt}, Input) ->
    Said = unicode:characters_to_binary(io_lib:format("~ts", [Prompt])),
    case binary:split(Input, <<"\n">>) of
        [<<>>] -> {eof, Said, <<>>};
        [Last] -> {Last, Said, <<>>};
        [Line, Rest] -> {<<Line/binary, "\n">>, Said, Rest}
    end;
io({get_line, Prompt}, Input) -> io({get_line, unicode, Prompt}, Input);
io({setopts, _}, Input) -> {ok, <<>>, Input};
io(getopts, Input) -> {[binary, {encoding, unicode}], <<>>, Input};
io(_, Input) -> {{error, request}, <<>>, Input}.

%% The text of a module's assembly: what the validator says to it, and whether the compiler makes a module of it.
validate(Assembly) ->
    {ok, Tokens, _} = erl_scan:string(unicode:characters_to_list(Assembly)),
    Terms = terms(Tokens, []),
    {module, Module} = lists:keyfind(module, 1, Terms),
    {exports, Exports} = lists:keyfind(exports, 1, Terms),
    {attributes, Attributes} = lists:keyfind(attributes, 1, Terms),
    {labels, Labels} = lists:keyfind(labels, 1, Terms),
    Functions = functions([Term || Term <- Terms, not is_head(Term)]),
    Code = {Module, Exports, Attributes, Functions, Labels},
    case beam_validator:validate(Code, strong) of
        {ok, _} -> ok;
        ok -> ok;
        {error, Errors} -> {error, [beam_validator:format_error(E) || {_, Es} <- Errors, {_, _, E} <- Es]}
    end.

is_head({Head, _}) -> lists:member(Head, [module, exports, attributes]) orelse Head =:= labels;
is_head(_) -> false.

terms([], Terms) ->
    lists:reverse(Terms);
terms(Tokens, Terms) ->
    {Term, [{dot, _} = Dot | Rest]} = lists:splitwith(fun(Token) -> element(1, Token) =/= dot end, Tokens),
    {ok, Parsed} = erl_parse:parse_term(Term ++ [Dot]),
    terms(Rest, [Parsed | Terms]).

functions([]) ->
    [];
functions([{function, Name, Arity, Entry} | Rest]) ->
    {Code, More} = lists:splitwith(fun(Term) -> not is_function_head(Term) end, Rest),
    [{function, Name, Arity, Entry, Code} | functions(More)].

is_function_head({function, _, _, _}) -> true;
is_function_head(_) -> false.

%% A line for each instruction, headed by `name/arity:`.
disassemble(Beam) ->
    {beam_file, _, _, _, _, Functions} = beam_disasm:file(Beam),
    Line = fun(Instruction) -> io_lib:format("  ~0tp~n", [Instruction]) end,
    {ok, [[io_lib:format("~ts/~p:~n", [Name, Arity]) | lists:map(Line, Code)] || {function, Name, Arity, _, Code} <- Functions]}.

%% Every chunk of a BEAM file, read by beam_lib.
chunks(Beam) ->
    Infos = beam_lib:info(Beam),
    {chunks, Chunks} = lists:keyfind(chunks, 1, Infos),
    {module, Module} = lists:keyfind(module, 1, Infos),
    Names = [Name || {Name, _, _} <- Chunks],
    {ok, {Module, Read}} = beam_lib:chunks(Beam, Names),
    true = length(Read) =:= length(Names),
    Known = [atoms, attributes, compile_info, exports, labeled_exports, imports, indexed_imports, locals, labeled_locals],
    {ok, {Module, Lists}} = beam_lib:chunks(Beam, Known),
    {ok, {Module, _}} = beam_lib:version(Beam),
    {ok, {Module, _}} = beam_lib:md5(Beam),
    {_, Imports} = lists:keyfind(imports, 1, Lists),
    {_, Exports} = lists:keyfind(exports, 1, Lists),
    {ok, io_lib:format("~ts; ~p exports, ~p imports", [lists:join(" ", Names), length(Exports), length(Imports)])}.
