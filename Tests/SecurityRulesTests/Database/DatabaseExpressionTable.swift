/// Expressions of a Realtime Database's rules, and what they are.
///
/// They are `.read` rules of `$key`, evaluated for a read of `/o` of ``data`` by the user of ``auth``.
enum DatabaseExpressionTable {
    enum Result: String {
        case holds = "true"
        case fails = "false"
        /// A value is of a wrong type: the whole rule doesn't hold.
        case error
        /// The upload is refused.
        case refused
    }

    static let data = #"""
        {"s": "bar", "empty": "", "n": 3, "f": 1.5, "t": true, "o": {"a": {"b": 1}, "c": 2, "x y": 0}, "big": 9007199254740993,
         "u": "é😀", "lines": "a\nb", "users": {"ada": {"role": "editor"}}}
        """#
    static let priorities: [String: Double] = ["/n": 5, "/o": 7]

    static let auth = #"""
        {"uid": "ada", "provider": "password", "token": {"email": "taro@example.com", "admin": true, "level": 3,
         "roles": ["x", "y"], "firebase": {"sign_in_provider": "password"}, "1": "one"}}
        """#

    typealias Row = (expression: String, result: Result)

    static let rows: [Row] = literals + variables + snapshots + strings + operators + types + limitsOfUploads

    static let literals: [Row] = [
        ("true", .holds), ("false", .fails), ("(true)", .holds), (" true\n\t", .holds), ("1 == 1.0", .holds),
        (".5 == 0.5", .holds), ("1e3 == 1000", .holds), ("1. == 1", .holds), ("1E-2 == 0.01", .holds),
        ("'a' == \"a\"", .holds), (#"'\'' == "'""#, .holds), (#"'\n\t\\\/' == '\x0a\u0009\\/'"#, .holds),
        (#"'\uD83D\uDE00' == '😀'"#, .holds), ("null == null", .holds), ("'é' == 'e\u{301}'", .fails),
        ("9007199254740993 == 9007199254740992", .fails), ("9223372036854775807 > 9223372036854775806", .holds),
        ("-9223372036854775808 + 1 == -9223372036854775807", .holds), ("- - 1 == 1", .holds),
        ("-(-9223372036854775808) > 0", .holds),
        ("", .refused), (" ", .refused), ("'a", .refused), (#"'\q' == 'q'"#, .refused), (#"'\uD83D' == 'x'"#, .refused),
        ("0x10 == 16", .refused), ("1a == 1", .refused), ("1e999 == 1", .refused), ("'a\nb' == 'a'", .refused),
        ("[1] == null", .refused), ("/a/ == null", .refused), ("{} == null", .refused), ("/* a */ true", .refused),
        ("`a` == 'a'", .refused), ("undefined == null", .refused), ("#", .refused),
    ]

    static let variables: [Row] = [
        ("auth != null", .holds), ("auth.uid == 'ada'", .holds), ("auth['uid'] === 'ada'", .holds),
        ("auth.provider == 'password'", .holds), ("auth.token.email == 'taro@example.com'", .holds),
        ("auth.token.admin == true", .holds), ("auth.token.firebase.sign_in_provider == 'password'", .holds),
        ("auth.token.missing == null", .holds), ("auth.token.missing.further == null", .holds),
        ("auth.uid.further == null", .holds), ("auth.token['level'] + 1 == 4", .holds),
        ("auth.token[$key] == null", .holds), ("auth['u' + 'id'] == 'ada'", .holds),
        ("auth.token.roles[1] == 'y'", .holds), ("auth.token.roles[2] == null", .holds),
        ("auth.token.roles[0 - 1] == null", .holds), ("auth.token[1] == 'one'", .holds),
        ("auth.token[null == null] == 1", .refused), ("auth.token[auth.token.missing] == null", .error),
        ("auth.token[auth.token.admin] == null", .error), ("auth.token == auth.token", .holds),
        ("auth.token == auth", .fails), ("now == 1795000000123", .holds), ("now > 1", .holds),
        ("$key == 'o'", .holds), ("$other == 'o'", .refused), ("$ == 'o'", .refused),
        ("root.child($key).exists()", .holds), ("data.child('c').val() == 2", .holds),
        ("newData.exists()", .refused), ("skies == 'blue'", .refused), ("Auth != null", .refused),
        ("query.orderByKey", .holds), ("query.orderByValue", .fails), ("query.orderByPriority", .fails),
        ("query.orderByChild == null", .holds), ("query['orderByKey']", .holds), ("query.startAt == null", .holds),
        ("query.endAt == null", .holds), ("query.equalTo == null", .holds), ("query.limitToFirst == null", .holds),
        ("query.limitToLast == null", .holds), ("query.limitToFirst <= 10", .error),
        ("query.startAfter == null", .refused), ("query == null", .refused), ("query.orderByKey()", .refused),
        ("now.uid == null", .refused), ("true.uid == null", .refused), ("null.uid == null", .refused),
    ]

    static let snapshots: [Row] = [
        ("root.child('s').val() == 'bar'", .holds), ("root.child('/s/').val() == 'bar'", .holds),
        ("root.child('o/a//b').val() == 1", .holds), ("root.child('o').child('a').child('b').val() == 1", .holds),
        ("root.child('').child('s').exists()", .holds), ("root.child('s').child('x').val() == null", .holds),
        ("root.child('o').val() != null", .holds), ("root.child('o').val() == root.child('o').val()", .fails),
        ("root.val() == null", .fails), ("root.child('missing').val() == null", .holds),
        ("root.child('banned/a@b.c').val() == null", .holds), ("root.child('a.b').exists()", .fails),
        ("root.child('a.b').parent().child('s').exists()", .holds),
        ("root.child(auth.token.missing).exists()", .error), ("root.child(auth.token.level).exists()", .error),
        ("root.child(1).exists()", .refused), ("root.child().exists()", .refused),
        ("root.child('a', 'b').exists()", .refused), ("root.child('s') == null", .refused),
        ("root.child(root).exists()", .refused),
        ("data.parent().child('s').exists()", .holds), ("root.child('o/a').parent().child('c').val() == 2", .holds),
        ("data.child('a').parent().parent().child('n').val() == 3", .holds), ("root.parent().exists()", .error),
        ("data.parent().parent().exists()", .error),
        ("root.hasChild('s')", .holds), ("root.hasChild('o/a/b')", .holds), ("root.hasChild('x' + 'y')", .fails),
        ("root.hasChild(auth.token.missing)", .error), ("root.hasChild('a/b/c/d')", .fails),
        ("root.hasChildren()", .holds), ("root.child('s').hasChildren()", .fails),
        ("root.child('missing').hasChildren()", .fails), ("root.hasChildren(['s', 'n'])", .holds),
        ("root.hasChildren(['s', 'x'])", .fails), ("root.hasChildren(['s', 'o/c'])", .holds),
        ("root.hasChildren([$key, 'us' + 'ers'])", .holds), ("root.hasChildren(['x', auth.token.level])", .error),
        ("root.hasChildren([])", .refused), ("root.hasChildren(['s', 7])", .refused),
        ("root.hasChildren('s')", .refused), ("root.hasChildren('s', 'n')", .refused),
        ("root.hasChildren(['s'], ['n'])", .refused), ("root.hasChildren([root])", .refused),
        ("root.exists()", .holds), ("root.child('missing').exists()", .fails), ("root.exists", .refused),
        ("root.exists == true", .refused), ("root.exists(1)", .refused), ("root['exists']()", .holds),
        (#"root["exi" + "sts"]()"#, .refused), ("root[$key]()", .refused), ("root['missing']()", .refused),
        ("root.isArray()", .refused), ("root.child('n').getPriority() == 5", .holds),
        ("data.getPriority() > 6", .holds),
        ("root.getPriority() == null", .holds), ("root.child('a.b').getPriority() == null", .holds),
        ("root.child('s').isString()", .holds), ("root.child('n').isString()", .fails),
        ("root.child('missing').isString()", .fails), ("root.child('n').isNumber()", .holds),
        ("root.child('f').isNumber()", .holds), ("root.child('s').isNumber()", .fails),
        ("root.child('t').isBoolean()", .holds), ("root.child('o').isBoolean()", .fails),
        ("(true ? data : root).exists()", .holds), ("(true ? data : null) == null", .refused),
        ("root.child('users/' + auth.uid + '/role').val() == 'editor'", .holds),
        ("root.val().child('s').exists()", .refused), ("root()", .refused), ("root.exists()()", .refused),
    ]

    static let strings: [Row] = [
        ("'abc'.length == 3", .holds), ("root.child('u').val().length == 3", .holds),
        ("root.child('empty').val().length < 100", .holds), ("root.child('n').val().length == null", .holds),
        ("root.child('missing').val().length == null", .holds), ("root.child('missing').val().length > 0", .error),
        ("auth.uid.length == 3", .holds), ("auth.token.length == null", .holds), ("'abc'['length'] == 3", .holds),
        ("'abc'.length() == 3", .refused),
        ("'abc'.contains('bc')", .holds), ("'abc'.contains('cb')", .fails), ("'abc'.contains('')", .holds),
        ("'aabaabaac'.contains('aabaac')", .holds), ("'abc'['contains']('b')", .holds),
        ("auth.uid.contains('d')", .holds), ("auth.uid['contains']('d')", .holds),
        ("auth.token.level.contains('3')", .error),
        ("auth.token.missing.contains('3')", .error), ("'3'.contains(auth.token.level)", .error),
        ("'3'.contains(3)", .refused), ("'abc'.contains()", .refused), ("'abc'.contains('a', 'b')", .refused),
        ("'abc'.contains", .refused), ("auth.uid.missing() == true", .refused),
        ("'abc'.beginsWith('ab')", .holds), ("'abc'.beginsWith('b')", .fails), ("'abc'.beginsWith('abcd')", .fails),
        ("'abc'.beginsWith(auth.token.missing)", .error), ("'abc'.endsWith('bc')", .holds),
        ("'abcbc'.endsWith('bc')", .holds), ("'abc'.endsWith('b')", .fails),
        ("'abc'.endsWith(auth.token.level)", .error),
        ("'a.b.c'.replace('.', ',') == 'a,b,c'", .holds), ("'aaa'.replace('aa', 'b') == 'ba'", .holds),
        ("'ab'.replace('', '-') == '-a-b-'", .holds), ("'ab'.replace('x', 'y') == 'ab'", .holds),
        ("'ab'.replace('a', '') == 'b'", .holds), ("'ab'.replace(auth.token.level, 'x') == 'ab'", .error),
        ("'ab'.replace('a', auth.token.level) == 'ab'", .error), ("'ab'.replace('a') == 'ab'", .refused),
        ("'Ab'.toLowerCase() == 'ab'", .holds), ("'Äb'.toUpperCase() == 'ÄB'", .holds),
        ("auth.token.level.toUpperCase() == '3'", .error), ("'abc'.toUpperCase('x') == 'ABC'", .refused),
        ("'bar'.matches(/a/)", .holds), ("'bar'.matches(/A/)", .fails), ("'bar'.matches(/A/i)", .holds),
        ("'bar'.matches(/^bar$/)", .holds), ("'a/b'.matches(/a[/]b/)", .holds), (#"'a/b'.matches(/a\/b/)"#, .holds),
        ("root.child('n').val().matches(/3/)", .error), ("root.child('missing').val().matches(/3/)", .error),
        ("'bar'.matches('/a/')", .refused), ("'bar'.matches('a')", .refused), ("'bar'.matches(/a/ig)", .refused),
        ("'bar'.matches(/a/g)", .refused), ("'bar'.matches(/a)", .refused), ("'bar'.matches()", .refused),
        ("'bar'.matches(/(^a$|b)/)", .refused), ("'bar'.matches(/a/, /b/)", .refused),
        ("(root.child('s').val() + '!').length == 4", .holds),
    ]

    static let operators: [Row] = [
        ("!false", .holds), ("!!true", .holds), ("!(1 == 2)", .holds), ("!auth.token.admin", .refused),
        ("!root", .refused), ("!null", .refused), ("-1 == 0 - 1", .holds), ("-auth.token.level == -3", .holds),
        ("-auth.uid == 1", .error), ("-auth.token.missing == 1", .error), ("-'a' == 1", .refused),
        ("+1 == 1", .refused),
        ("--1 == 1", .refused), ("1 - -1 == 2", .holds),
        ("1 + 1 == 2", .holds), ("1 + 0.5 == 1.5", .holds), ("'a' + 'b' == 'ab'", .holds), ("'a' + 1 == 'a1'", .holds),
        ("1 + 'a' == '1a'", .holds), ("'a' + 1.0 == 'a1'", .holds), ("'a' + 1.5 == 'a1.5'", .holds),
        ("1 + 1 + 'a' == '2a'", .holds), ("'' + 1e21 == '1e+21'", .holds),
        ("'' + 1e20 == '100000000000000000000'", .holds),
        ("'' + 0.000001 == '0.000001'", .holds), ("'' + 0.00000012 == '1.2e-7'", .holds), ("'' + 1/0 == 'NaN'", .holds),
        ("auth.uid + 1 == 'ada1'", .holds), ("auth.token.level + 1 == 4", .holds),
        ("auth.token.admin + 1 == 2", .error),
        ("auth.token.missing + 'a' == 'a'", .error), ("auth.token + 'a' == 'a'", .error), ("true + 1 == 2", .refused),
        ("null + 1 == 1", .refused), ("root + 'a' == 'a'", .refused),
        ("9223372036854775807 + 1 == 9223372036854775808", .holds), ("5 - 3 == 2", .holds),
        ("auth.token.level - 1 == 2", .holds), ("auth.uid - 1 == 0", .error), ("1 - auth.token.missing == 1", .error),
        ("1 - auth.token.admin == 0", .error), ("'a' - 1 == 0", .refused), ("2 * 3 == 6", .holds),
        ("2 * 0.5 == 1", .holds),
        ("auth.uid * 1 == 1", .error), ("true * 1 == 1", .refused), ("6 / 3 == 2", .holds), ("1 / 2 == 0.5", .holds),
        ("1.5 / 0 == 1.5 / 0", .fails), ("1.5 / 0 > 2", .fails), ("1 / 0 > 2", .fails), ("1 / 0 < 2", .fails),
        ("1 / 0 == 1 / 0", .fails), ("1 / 0 != 1 / 0", .holds),
        ("'' + (0 - 1) / 0 == 'NaN'", .holds), ("auth.uid / 1 == 1", .error), ("5 % 3 == 2", .holds),
        ("-5 % 3 == -2", .holds),
        ("5.5 % 2 == 1.5", .holds), ("1 % 0 == 1", .fails), ("auth.token.missing % 2 == 0", .error),
        ("2 ** 2 == 4", .refused), ("1 + 2 * 3 == 7", .holds), ("(1 + 2) * 3 == 9", .holds), ("8 / 4 / 2 == 1", .holds),
        ("7 - 2 - 1 == 4", .holds),
        ("1 < 2", .holds), ("2 < 1", .fails), ("1 <= 1", .holds), ("2 > 1", .holds), ("1 >= 2", .fails),
        ("2 >= 2", .holds), ("1 < 1.5", .holds),
        ("'a' < 'b'", .holds), ("'a' < 'B'", .fails), ("'\u{FFFF}' > '\u{1F600}'", .holds), ("'a' <= 'a'", .holds),
        ("root.child('big').val() > 9007199254740992", .holds),
        ("root.child('big').val() > 9007199254740992.0", .holds),
        ("'ada' > auth.uid", .fails), ("auth.uid > 3", .error), ("3 > auth.uid", .error),
        ("auth.token.missing < 1", .error),
        ("1 > auth.token.missing", .error), ("auth.token.admin > 1", .error), ("root.val() > 1", .error),
        ("root.val() > true", .refused), ("true <= root.val()", .refused), ("root > 1", .refused), ("auth > 1", .error),
        ("auth.token.missing > null", .error), ("auth.token.missing >= auth.token.missing", .error),
        ("'a' < 1", .error), ("1 < 2 == true", .holds), ("2.5 > 2", .holds), ("2.5 < 3", .holds), ("3 > 2.5", .holds),
        ("9223372036854775807 / -1 == -9223372036854775807", .holds), ("6 / -1 == -6", .holds), ("7 % -1 == 0", .holds),
        ("1 == '1'", .fails), ("1 != '1'", .holds), ("1 === 1", .holds), ("1 !== 1", .fails), ("1 !== 2", .holds),
        ("true == true", .holds),
        ("true == 1", .fails), ("null == false", .fails), ("auth.uid == null", .fails), ("auth.uid != 3", .holds),
        ("root == null", .refused), ("null != root.child('a')", .refused), ("/a/ == 'a'", .refused),
        ("true && true", .holds), ("true && false", .fails), ("false && true", .fails), ("false || true", .holds),
        ("false || false", .fails), ("true || false && false", .holds), ("false && true || true", .holds),
        ("auth.token.missing.length > 1 && true", .error), ("auth.token.missing.length > 1 || true", .error),
        ("!(auth.token.missing.length > 1)", .error), ("true || auth.token.missing.length > 1", .holds),
        ("false && auth.token.missing.length > 1", .fails), ("true && auth.token.missing.length > 1", .error),
        ("auth.token.admin && true", .refused), ("true || auth.token.admin", .refused), ("1 && true", .refused),
        ("true ? true : false", .holds), ("false ? true : false", .fails), ("true ? 1 == 1 : 1 == 2", .holds),
        ("(true ? 1 : 'a') == 1", .holds), ("(true ? auth : 1) != null", .holds),
        ("true ? true : auth.token.missing.length > 1", .holds), ("false ? auth.token.missing > 1 : true", .holds),
        ("auth.token.missing > 1 ? true : true", .error), ("false ? true : false ? true : true", .holds),
        ("auth.token.admin ? true : false", .refused), ("auth != null ? 7 : true", .refused), ("true ? true", .refused),
        ("true ? true : auth.token.admin", .refused),
    ]

    /// What isn't known to be boolean isn't a rule.
    static let types: [Row] = [
        ("7", .refused), ("'a'", .refused), ("null", .refused), ("auth", .refused), ("auth.token.admin", .refused),
        ("root", .refused), ("root.val()", .refused), ("now", .refused), ("$key", .refused), ("1 + 1", .refused),
        ("root.child('t').val()", .refused), ("root.child('t').val() == true", .holds),
    ]

    static let limitsOfUploads: [Row] = [
        ("root = 5", .refused), ("var a = 8", .refused), ("true; false", .refused), ("true;", .refused),
        ("true, false", .refused),
        ("true false", .refused), ("(true", .refused), ("true)", .refused), ("true &&", .refused),
        ("&& true", .refused),
        ("true & true", .refused), ("true | true", .refused), ("1 ^ 1 == 0", .refused), ("~1 == 0", .refused),
        ("auth.", .refused), ("auth.1 == 1", .refused), ("auth[", .refused), ("auth['uid' == 'x'", .refused),
        ("typeof auth == 'object'", .refused), ("'uid' in auth", .refused), ("new Date() == null", .refused),
        ("function() { return true }", .refused), ("true // comment", .refused), ("auth?.uid == null", .refused),
    ]
}
