import Sharing
import Testing

struct MetricFamilyTests {
    @Test func labelsAreEscaped() {
        var family = MetricFamily("x", "gauge", "Help.")
        family.sample(["path": "a\"\\\n"], 1.5)
        #expect(
            family.text == """
                # HELP x Help.
                # TYPE x gauge
                x{path="a\\"\\\\\\n"} 1.5

                """)
    }

    @Test func aHistogramHasTheLabelsOfItsSamples() {
        var histogram = LatencyHistogram()
        histogram.add(seconds: 1000)
        var family = MetricFamily("x", "histogram", "Help.")
        family.samples(["function": "f"], histogram)
        #expect(
            family.text.hasPrefix(
                "# HELP x Help.\n# TYPE x histogram\nx_bucket{function=\"f\",le=\"0.00025\"} 0\n"))
        #expect(
            family.text.hasSuffix(
                "x_bucket{function=\"f\",le=\"+Inf\"} 1\nx_sum{function=\"f\"} 1000\nx_count{function=\"f\"} 1\n"))
    }

    @Test func aSingleSampleHasNoLabels() {
        #expect(MetricFamily.single("x", "gauge", "Help.", 3) == "# HELP x Help.\n# TYPE x gauge\nx 3\n")
    }
}
