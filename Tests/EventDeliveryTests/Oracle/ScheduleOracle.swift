import Foundation
import TestSupport

/// Other programs' answers to when a schedule runs, from Python.
enum ScheduleOracle {
    /// One schedule, and the runs expected after an instant, in seconds since 1970.
    struct Question: Codable, Sendable {
        var schedule: String
        var zone: String
        var after: Int64
        var count: Int
    }

    /// The runs, or why there is no answer.
    struct Answer: Codable, Sendable {
        var runs: [Int64]
        var error: String?
    }

    private static let environment = ProcessInfo.processInfo.environment

    /// Where `.ci/run` installs croniter; `SCHEDULE_ORACLE_PYTHON` names another Python that has it.
    private static let croniterPython =
        environment["SCHEDULE_ORACLE_PYTHON"]
        ?? URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../.build-oracles/bin/python")
        .standardizedFileURL.path

    private static let appEngine = "/usr/lib/google-cloud-sdk/platform/google_appengine"

    static let hasCroniter = FileManager.default.isExecutableFile(atPath: croniterPython)
    static let hasGroc =
        FileManager.default.fileExists(atPath: appEngine + "/google/appengine/cron/groctimespecification.py")
        && FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")

    static func askCroniter(_ questions: [Question]) async throws -> [Answer] {
        try await ask(questions, croniterPython, croniterScript, [])
    }

    /// - Parameter questions: in UTC.
    static func askGroc(_ questions: [Question]) async throws -> [Answer] {
        try await ask(questions, "/usr/bin/python3", grocScript, [appEngine])
    }

    private static func ask(
        _ questions: [Question], _ python: String, _ script: String, _ arguments: [String]
    ) async throws -> [Answer] {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("schedules-\(UUID().uuidString)")
        try JSONEncoder().encode(questions).write(to: file)
        let output = try await withCheckedThrowingContinuation { continuation in
            // Waiting blocks, which tasks must not.
            DispatchQueue.global().async {
                continuation.resume(with: Result { try run(python, ["-c", script, file.path] + arguments) })
            }
        }
        try FileManager.default.removeItem(at: file)
        return try JSONDecoder().decode([Answer].self, from: output)
    }

    private static func run(_ program: String, _ arguments: [String]) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.start()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return data
    }

    /// croniter is asked for times of clocks on the wall, in no zone; which instants these are is worked out by our rule
    /// with Python's own zones. What croniter reads otherwise than cron does is put into words that it reads alike:
    ///
    /// - `a-a` is every value to it; it is one. So is `7/2` among the days of the week. Names are written as numbers.
    /// - `*` within a list is lost; the list is `*`.
    /// - `*/2` for a day restricts days to it, and both days are alternatives then; to cron a field that begins with `*`
    ///   restricts none, so that a day has to match both. It is asked for one, and the other is looked up.
    private static let croniterScript = """
        import datetime, json, sys, zoneinfo
        from croniter import croniter

        UTC = datetime.timezone.utc
        MINUTE = datetime.timedelta(minutes=1)

        NAMES = {3: "jan feb mar apr may jun jul aug sep oct nov dec".split(),
                 4: "sun mon tue wed thu fri sat".split()}

        def item(text, index):
            span, slash, step = text.partition("/")
            first, dash, last = span.partition("-")
            return first if dash and first == last or index == 4 and first == "7" and slash else text

        def field(text, index):
            for number, name in enumerate(NAMES.get(index, [])):
                text = text.replace(name, str(number + (index == 3)))
            items = [item(part, index) for part in text.split(",")]
            return "*" if "*" in items else ",".join(items)

        def instant(local, zone):
            time = local.replace(tzinfo=zone, fold=0)
            if time.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == local:
                return int(time.timestamp())
            # In a gap: the first minute after it. By the offset before the gap the time lies behind its beginning.
            low = int((time.astimezone(UTC) - datetime.timedelta(hours=30)).timestamp())
            high = int(time.timestamp())
            before = datetime.datetime.fromtimestamp(low, zone).utcoffset()
            while high - low > 60:
                middle = low + (high - low) // 120 * 60
                if datetime.datetime.fromtimestamp(middle, zone).utcoffset() == before:
                    low = middle
                else:
                    high = middle
            return high

        def runs(question):
            zone = zoneinfo.ZoneInfo(question["zone"])
            after = question["after"]
            fields = [field(text, index) for index, text in enumerate(question["schedule"].lower().split())]
            weekdays = None
            if fields[2] != "*" and fields[4] != "*" and (fields[2][0] == "*" or fields[4][0] == "*"):
                weekdays = croniter.expand("* * * * " + fields[4])[0][4]
                weekdays = set(range(7)) if "*" in weekdays else set(day % 7 for day in weekdays)
                fields[4] = "*"
            local = datetime.datetime.fromtimestamp(after, zone).replace(tzinfo=None)
            times = croniter(" ".join(fields), local - datetime.timedelta(hours=30), ret_type=datetime.datetime)
            found = []
            for _ in range(3000):
                local = times.get_next()
                if local.year > 2060:
                    break
                if weekdays is not None and (local.weekday() + 1) % 7 not in weekdays:
                    continue
                time = instant(local, zone)
                if time > after and (not found or time > found[-1]):
                    found.append(time)
                    if len(found) == question["count"]:
                        break
            return found

        answers = []
        for question in json.load(open(sys.argv[1])):
            try:
                answers.append({"runs": runs(question)})
            except Exception as error:
                answers.append({"runs": [], "error": str(error)})
        json.dump(answers, sys.stdout)
        """

    private static let grocScript = """
        import datetime, json, sys
        root = sys.argv[2]
        sys.path[:0] = [root, root + "/lib/py3_antlr3", root + "/lib/six"]
        from google.appengine.cron import groctimespecification as groc

        answers = []
        for question in json.load(open(sys.argv[1])):
            try:
                start = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=question["after"])
                times = groc.GrocTimeSpecification(question["schedule"]).GetMatches(start, question["count"])
                answers.append({"runs": [int((time - datetime.datetime(1970, 1, 1)).total_seconds()) for time in times]})
            except Exception as error:
                answers.append({"runs": [], "error": str(error) or "error"})
        json.dump(answers, sys.stdout)
        """
}
