import FunctionManifest
import StrictJSON

/// The functions as Firebase's tools read them, at `GET /__/functions.yaml`.
enum FunctionsDocument {
    static func yaml(_ functions: [FunctionManifest]) -> String {
        var text = "specVersion: v1alpha1\nendpoints:\(functions.isEmpty ? " {}" : "")\n"
        for function in functions {
            text += "  \(function.name):\n"
            text += "    entryPoint: \(function.name)\n    platform: gcfv2\n"
            text += "    region: [\(function.regions.map(quoted).joined(separator: ", "))]\n"
            text += "    availableMemoryMb: \(function.memoryMiB)\n    timeoutSeconds: \(function.timeoutSeconds)\n"
            text += "    minInstances: \(function.minInstances)\n    maxInstances: \(function.maxInstances)\n"
            text += "    concurrency: \(function.concurrency)\n    cpu: \(number(function.cpu))\n"
            text += "    ingressSettings: \(function.ingress)\n"
            if !function.secrets.isEmpty {
                text += "    secretEnvironmentVariables:\n"
                for name in function.secrets { text += "      - key: \(quoted(name))\n" }
            }
            if !function.labels.isEmpty {
                text += "    labels:\n"
                for (name, value) in function.labels.sorted(by: { $0.key < $1.key }) {
                    text += "      \(quoted(name)): \(quoted(value))\n"
                }
            }
            text += trigger(function.trigger)
        }
        return text
    }

    private static func trigger(_ trigger: TriggerManifest) -> String {
        switch trigger {
        case .callable: "    callableTrigger: {}\n"
        case .http: "    httpsTrigger: {}\n"
        case .blocking(let trigger): "    blockingTrigger: {eventType: \(trigger.eventType)}\n"
        case .document(let trigger):
            """
                eventTrigger:
                  eventType: \(trigger.cloudEventType)
                  eventFilters: {database: "(default)", namespace: "(default)"}
                  eventFilterPathPatterns: {document: \(quoted(trigger.document))}
                  retry: \(trigger.retry != nil)

            """
        case .reference(let trigger):
            """
                eventTrigger:
                  eventType: \(trigger.cloudEventType)
                  eventFilters: {}
                  eventFilterPathPatterns: {ref: \(quoted(trigger.reference)), instance: \(quoted(trigger.instance))}
                  retry: \(trigger.retry != nil)

            """
        case .schedule(let trigger):
            """
                scheduleTrigger:
                  schedule: \(quoted(trigger.schedule))
                  timeZone: \(quoted(trigger.timeZone))
                  retryConfig:
                    retryCount: \(trigger.retryCount)
                    maxRetrySeconds: \(trigger.maxRetrySeconds)
                    minBackoffSeconds: \(trigger.minBackoffSeconds)
                    maxBackoffSeconds: \(trigger.maxBackoffSeconds)
                    maxDoublings: \(trigger.maxDoublings)

            """
        case .task(let trigger):
            """
                taskQueueTrigger:
                  rateLimits:
                    maxConcurrentDispatches: \(trigger.maxConcurrentDispatches)
                    maxDispatchesPerSecond: \(number(trigger.maxDispatchesPerSecond))
                  retryConfig:
                    maxAttempts: \(trigger.maxAttempts)
                    maxRetrySeconds: \(trigger.maxRetrySeconds)
                    minBackoffSeconds: \(number(trigger.minBackoffSeconds))
                    maxBackoffSeconds: \(number(trigger.maxBackoffSeconds))
                    maxDoublings: \(trigger.maxDoublings)

            """
        case .event(let trigger):
            """
                eventTrigger:
                  eventType: \(quoted(trigger.eventType))
                  eventFilters: {\(filters(trigger.filters))}
                  retry: \(trigger.retry != nil)

            """
        }
    }

    private static func filters(_ filters: [String: String]) -> String {
        filters.sorted { $0.key < $1.key }.map { "\(quoted($0.key)): \(quoted($0.value))" }.joined(separator: ", ")
    }

    /// A double-quoted scalar: its escapes are those of JSON.
    private static func quoted(_ text: String) -> String {
        var json = JSONWriter()
        json.string(text)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() ? "\(Int(value))" : "\(value)"
    }
}
