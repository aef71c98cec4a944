//! Conversations with state machines, and edge values: the interpreter and Erlang give the same results.

use expect_test::{Expect, expect};
use testkit::otp::{Job, Otp};

use cure::{Limits, NoSources, beam, compile};

/// Runs `main/0` in both with these input lines; both must produce this output.
fn check(otp: &Otp, text: &str, expected: Expect) {
    let compiled = compile(text, &NoSources);
    let lines = cure::diagnostic::Lines::new(text);
    let said: Vec<_> = compiled.diagnostics.iter().map(|one| one.line(&lines)).collect();
    assert!(compiled.is_ok(), "{}", said.join("\n"));
    let run = compiled.run("main", Limits::default()).unwrap();
    let files = beam::program(&compiled.forms(), &|_| None).unwrap();
    let module = compiled.syntax()[0].name.name.clone();
    let job = Job { modules: &files, module: &module, function: "main", input: "" };
    let outcome = otp.run_all(&[job]).remove(0);
    let here = match run.result {
        Ok(value) => value,
        Err(failure) => format!("error: {failure}"),
    };
    let there = outcome.result.unwrap_or_else(|reason| format!("error: {reason}"));
    let here = format!("{here}\n{}", run.output);
    let there = format!("{there}\n{}", outcome.output);
    let both = if here == there { here } else { format!("interpreter: {here}\non Erlang: {there}") };
    expected.assert_eq(&both);
}

#[test]
fn conversations_with_machines() {
    let Some(otp) = Otp::start() else { return };
    let machine = r##"
  record Till do
    cents: Int
    sold: Int
  end
  fsm Till{cents: 5, sold: 0} do
    Open --> |sell| Open when cents >= 3 {cents = cents - 3; sold = sold + 1}
    Open --> |sell| Empty when cents < 3
    Open --> |close| Shut
    Empty --> |fill| Open {cents = cents + 100}
    Shut --> [*]
  end
"##;
    let program = |main: &str| {
        format!("module Conv do\n  export [main/0]\n  import Std.Fsm\n{machine}\n  def main(): Any =\n{main}\nend\n")
    };
    // Guards, changed data, unknown events, and the history.
    let main = r##"
    let till = Till_spawn()
    let _ = Till_send(till, :sell)
    let one = Till_state(till)
    let _ = fsm_cast(till, {:nothing, 1})
    let _ = fsm_send(till, 17)
    let _ = fsm_send_batch(till, [:sell, :fill, :sell])
    let two = fsm_call(till, {:close, "now"})
    let three = fsm_send(till, :sell)
    {one, two, three, fsm_info(till), fsm_history(till), Till_definition()}"##;
    check(
        &otp,
        &program(main),
        expect![[r#"
        {{ok,{'Open',{'Till',2,1}}},{ok,{'Shut',{'Till',99,2}}},ok,{'Till','Shut',{'Till',99,2}},[{'Open',sell,'Open'},{'Open',sell,'Empty'},{'Empty',fill,'Open'},{'Open',sell,'Open'},{'Open',close,'Shut'}],{'Till','Open',['Open','Empty','Shut'],[{'Open',sell,'Open'},{'Open',sell,'Empty'},{'Open',close,'Shut'},{'Empty',fill,'Open'}]}}
    "#]],
    );
    // Names, terminal states, and missing machines.
    let main = r##"
    let till = fsm_spawn(:Till, Till{cents: 1, sold: 7})
    let named = fsm_advertise(till, :front)
    let _ = fsm_send(:front, :sell)
    let there = {fsm_state(:front), fsm_is_alive(till), fsm_is_alive(:front), fsm_whereis(:front) == till}
    let ended = fsm_stop(:front)
    let gone = {fsm_state(till), fsm_send(till, :sell), fsm_is_alive(till), fsm_whereis(:front), fsm_stop(till)}
    let none = {fsm_spawn(:Nothing, 1), start_fsm(:Nothing), fsm_state(:nobody), fsm_history(12), fsm_whereis(:nobody)}
    let other = Till_spawn(Till{cents: 3, sold: 0})
    let _ = fsm_advertise(other, :front)
    {named, there, ended, gone, none, fsm_state(:front), Till_stop(other)}"##;
    check(
        &otp,
        &program(main),
        expect![[r#"
        {ok,{{ok,{'Empty',{'Till',1,7}}},true,true,true},ok,{{error,noproc},{error,noproc},false,undefined,{error,noproc}},{{error,no_such_fsm},{error,no_such_fsm},{error,noproc},{error,noproc},undefined},{ok,{'Open',{'Till',3,0}}},ok}
    "#]],
    );
    // Data that the machine cannot use ends only the machine.
    let main = r##"
    let till = fsm_spawn(:Till, 12)
    let sent = fsm_send(till, :sell)
    let _ = fsm_send(till, :sell)
    {sent, fsm_state(till), fsm_is_alive(till)}"##;
    check(
        &otp,
        &program(main),
        expect![[r#"
            {ok,{error,noproc},false}
        "#]],
    );
}

#[test]
fn machines_and_time() {
    let Some(otp) = Otp::start() else { return };
    let text = r##"
module Times do
  export [main/0]
  import Std.Fsm
  import Std.System [sleep/1, monotonic_time/1]

  record Kettle do
    boils: Int
  end

  fsm Kettle{boils: 0} do
    states: [Cold, Warm, Hot, Off]
    initial: Cold
    terminal: [Off]
    state Cold do
      event(:on) -> Warm
    end
    state Warm do
      timeout(20) when boils > 0 -> Off
      timeout(600) -> Hot do
        boils = boils + 1
      end
      event(:shake) -> Warm
    end
    state Hot do
      timeout(0) -> Cold
    end
  end

  def same(a: Any, b: Any): Bool = a == b

  def until(machine: Any, state: Atom): Any =
    match fsm_state(machine) do
      {:ok, {now, data}} ->
        if same(now, state) then data
        else
          let _ = sleep(10)
          until(machine, state)
      other -> other
    end

  # A kettle that was shaken while it was warm. Where the machine stood still so long that it was hot by then, another.
  def shaken(tries: Nat): {Any, Int} =
    let kettle = start_fsm(:Kettle)
    let _ = fsm_send(kettle, :on)
    let _ = sleep(100)
    let now = monotonic_time(:millisecond)
    let _ = fsm_send(kettle, :shake)
    let _ = fsm_state(kettle)
    if tries == 0 or same(fsm_history(kettle), [{:Cold, :on, :Warm}, {:Warm, :shake, :Warm}]) then {kettle, now}
    else shaken(tries - 1)

  def main(): Any =
    let {kettle, at} = shaken(50)
    let boiled = until(kettle, :Cold)
    let anew = monotonic_time(:millisecond) - at >= 600
    let _ = fsm_send(kettle, :on)
    {anew, boiled, until(kettle, :Off), fsm_history(kettle)}
end
"##;
    check(
        &otp,
        text,
        expect![[r#"
        {true,{'Kettle',1},{'Kettle',1},[{'Cold',on,'Warm'},{'Warm',shake,'Warm'},{'Warm',timeout,'Hot'},{'Hot',timeout,'Cold'},{'Cold',on,'Warm'},{'Warm',timeout,'Off'}]}
    "#]],
    );
}

#[test]
fn machines_compute_with_the_data_of_events() {
    let Some(otp) = Otp::start() else { return };
    let text = r##"
module Till do
  export [main/0]
  record Till do
    sum: Nat
  end
  fsm Till{sum: 0} do
    Open --> |add| Open when event_data > 0 { sum = sum + event_data }
    Open --> |set| Open when 0 <= event_data { sum = event_data }
    Open --> |any| Open { sum = 1 }
  end
  def after_all(events: List({Atom, Any})): Any =
    let till = Till_spawn()
    let _ = Std.List.map(events, fn(event) -> Std.Fsm.fsm_cast(till, event) end)
    Till_state(till)
  def main(): Any =
    {after_all([{:add, 5 as Any}, {:add, -5 as Any}, {:set, 70 as Any}]),
     after_all([{:add, 1.5 as Any}, {:any, 0 as Any}]),
     after_all([{:set, "x" as Any}, {:any, 0 as Any}]),
     after_all([{:any, :x as Any}])}
end
"##;
    check(
        &otp,
        text,
        expect![[r#"
        {{ok,{'Open',{'Till',70}}},{error,noproc},{error,noproc},{ok,{'Open',{'Till',1}}}}
    "#]],
    );
}

#[test]
fn values_at_the_edges() {
    let Some(otp) = Otp::start() else { return };
    let program = |main: &str| {
        format!(
            "module Edge do\n  export [main/0]\n  import Std.Show\n  import Std.Io\n  import Std.Core\n  def id(x: Int): Int = x\n  def same(x: Float): Float = x\n  def list(x: List(Int)): List(Int) = x\n  def main(): Any =\n{main}\nend\n"
        )
    };
    let numbers = r##"
    {id(-7) / 2, id(-7) % 2, id(7) % -2, id(9223372036854775807) + 1, id(-9223372036854775808) - 1,
     id(4294967296) * id(4294967296) * 3, id(0) - 18446744073709551616 / 3, id(1152921504606846975) + 1,
     -id(-9223372036854775808), id(123456789012345678901234567890) % 97}"##;
    check(
        &otp,
        &program(numbers),
        expect![[r#"
        {-3,-1,1,9223372036854775808,-9223372036854775809,55340232221128654848,-6148914691236517205,1152921504606846976,9223372036854775808,52}
    "#]],
    );
    let floats = r##"
    let all = [same(0.1) + 0.2, 1.0e22, 1.0e21, 123456789.0, 1.0e-5, 0.0001, 5.0e-324, 1.7976931348623157e308,
      9007199254740992.0, 9007199254740991.0, 1.0e16, 12345678901234567.0, 100.0, -same(0.0), -same(1.5), same(1.0) / 3.0]
    let _ = println("#{all}")
    {all, id(1) == 1, same(1.0) == 1.0, 0.1 < 0.2}"##;
    check(
        &otp,
        &program(floats),
        expect![[r#"
            {[0.30000000000000004,1.0e22,1.0e21,123456789.0,1.0e-5,0.0001,5.0e-324,1.7976931348623157e308,9.007199254740992e15,9007199254740991.0,1.0e16,1.2345678901234568e16,100.0,-0.0,-1.5,0.3333333333333333],true,true,true}
            [0.30000000000000004, 1.0e22, 1.0e21, 123456789.0, 1.0e-5, 0.0001, 5.0e-324, 1.7976931348623157e308, 9.007199254740992e15, 9007199254740991.0, 1.0e16, 1.2345678901234568e16, 100.0, -0.0, -1.5, 0.3333333333333333]
        "#]],
    );
    let texts = r##"
    let _ = println("grüße, 世界 🎉 \"quoted\" \\ \t tab")
    let _ = print_raw("a ~s and ~s\n", ["ü", "b"])
    {"ü", "世界", "", "a\"b\\c\n", "tab\t", [104, 105], [233], [955], [7], :ok, :Ok, 'with space', 'ünï', :end, {}, (),
     "nul #{1}", "a" <> "b" == "ab"}"##;
    check(
        &otp,
        &program(texts),
        expect![[r#"
            {<<"ü"/utf8>>,<<"世界"/utf8>>,<<>>,<<"a\"b\\c\n">>,<<"tab\t">>,"hi","é",[955],[7],ok,'Ok','with space',ünï,'end',{},unit,<<"nul 1">>,true}
            grüße, 世界 🎉 "quoted" \ 	 tab
            a ü and b
        "#]],
    );
    let order = r##"
    {compare("a", "b"), compare([1, 2], [1]), compare({1, 2}, {1, 1}), [1, 2, 3] ++ [4] == list([1, 2, 3, 4]),
     [1, 2, 3, 2] -- [2], minimum(:b, :a), maximum("a", ""), {1, "x"} == {1, "x"}, Some(3) < None}"##;
    check(
        &otp,
        &program(order),
        expect![[r#"
        {{lt},{gt},{gt},true,[1,3,2],a,<<"a">>,true,false}
    "#]],
    );
}

#[test]
fn texts_are_the_same_on_erlang() {
    let Some(otp) = Otp::start() else { return };
    let text = r##"
module Texts do
  import Std.String
  def each(text: String): Any =
    {length(text), byte_size(text), upcase(text), downcase(text), capitalize(text), reverse(text), trim(text),
     graphemes(text), codepoints(text), slice(text, 1, 3), at(text, 2), first(text), last(text), split(text, " "),
     split_at(text, 2), words(text), lines(text), pad_left(text, 6, "ü"), pad_right(text, 6, "."), valid_utf8(text),
     starts_with(text, "a"), ends_with(text, "ß"), contains(text, "e"), replace(text, "a", "bb"),
     replace_all(text, "a", "bb"), duplicate(text, 2), to_charlist(text), to_atom(text)}
  def main(): Any =
    [each(""), each("abc a"), each("  straße\n"), each("ΟΔΟΣ Σ"), each("e\u0301a 👨‍👩‍👧 🇩🇪"), each("İı ǅ ﬁ"), each("a\r\nb\n\nc"),
     each("일본 ไทย")]
end
"##;
    let text = text.replace("\\u0301", "\u{301}");
    let compiled = compile(&text, &NoSources);
    let lines = cure::diagnostic::Lines::new(&text);
    let said: Vec<_> = compiled.diagnostics.iter().map(|one| one.line(&lines)).collect();
    assert!(compiled.is_ok(), "{}", said.join("\n"));
    let here = compiled.run("main", Limits::default()).unwrap().result.unwrap();
    let there = otp.run(&beam::program(&compiled.forms(), &|_| None).unwrap(), "Texts", "main").result.unwrap();
    let parts = |text: &str| text.replace(",", ",\n");
    pretty(&parts(&here), &parts(&there));
}

#[test]
fn numbers_are_the_same_on_erlang() {
    let Some(otp) = Otp::start() else { return };
    let text = r##"
module Numbers do
  import Std.String [parse_int/1, parse_float/1, fixed/2, from_float/1]
  import Std.List [map/2]
  import Std.Math
  def floats(): List(Float) =
    [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.05, 0.125, 1.005, 2.675, 1.0e15, 123456789.987654321, 1.0e22, -1.0e-7,
      1.7976931348623157e308, 5.0e-324]
  def main(): Any =
    {map(["0", "-0", "+12", "007", "12345678901234567890", "1_000", " 1", "1 ", "-", "", "0x10", "٣", "1.0"], parse_int),
     map(["1", "-1.5", "+.5", "1.", "1.5e3", "1E-2", "1e", "1e+5", "e5", "1.7976931348623157e308", "1.7976931348623158e308",
       "0.00000000000000000000001e330", "123456789012345678901234567890", "1e-400", "5e-324", "1e-330", "0e999", "NaN",
       "000.5", "1e999999999999999999999999"], parse_float),
     map(floats(), fn(x) -> if abs_float(x) < 1.0e300 then fixed(x, 2) else "large" end),
     map(floats(), fn(x) -> fixed(x / 1.0e300, 0) end), map(floats(), from_float),
     map(floats(), fn(x) -> {round(x), truncate(x), floor(x), ceiling(x)} end),
     map([2.0, 0.1, 144.0], fn(x) -> {sqrt(x), log(x), exp(x), sin(x), cos(x), tan(x), atan2(x, 3.0), pow(x, 1.5)} end),
     map([0, 1, 15, 16, 17, 10000000000000000000000000000000000000000], fn(n) -> if n >= 0 then integer_sqrt(n) else 0 end),
     gcd(-12, 18), lcm(21, 6), power(2, 10), power(2, -1), {sign(-3), clamp(5, 10, 0), is_even(0), is_odd(-1)}}
end
"##;
    let compiled = compile(text, &NoSources);
    let lines = cure::diagnostic::Lines::new(text);
    let said: Vec<_> = compiled.diagnostics.iter().map(|one| one.line(&lines)).collect();
    assert!(said.is_empty(), "{}", said.join("\n"));
    let here = compiled.run("main", Limits::default()).unwrap().result.unwrap();
    let there = otp.run(&beam::program(&compiled.forms(), &|_| None).unwrap(), "Numbers", "main").result.unwrap();
    let parts = |text: &str| text.replace(',', ",\n");
    pretty(&parts(&here), &parts(&there));
}

/// Asserts that two texts are equal, or shows the first line that differs.
fn pretty(here: &str, there: &str) {
    let differ = here.lines().zip(there.lines()).position(|(a, b)| a != b);
    if let Some(at) = differ {
        let around = |text: &str| text.lines().skip(at.saturating_sub(4)).take(8).collect::<Vec<_>>().join("\n");
        panic!("interpreter:\n{}\non Erlang:\n{}", around(here), around(there));
    }
    assert_eq!(here, there);
}

#[test]
fn lines_are_read_on_erlang() {
    let Some(otp) = Otp::start() else { return };
    let text = "module Read do\n  import Std.Io\n  def main(): Any =\n    let a = read_line()\n    let b = read_line()\n    \
                let c = read_line()\n    {a, b, c, read_line()}\nend\n";
    let compiled = compile(text, &NoSources);
    let modules = beam::program(&compiled.forms(), &|_| None).unwrap();
    let job = Job { modules: &modules, module: "Read", function: "main", input: "ada\nüber\r\nlast" };
    let said = otp.run_all(&[job]).remove(0).result.unwrap();
    assert_eq!(said, "{{some,<<\"ada\">>},{some,<<\"über\"/utf8>>},{some,<<\"last\">>},{none}}");
    assert_eq!(compiled.run("main", Limits::default()).unwrap().result.unwrap(), "{{none},{none},{none},{none}}");
}
