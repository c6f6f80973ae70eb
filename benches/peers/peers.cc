// The networks of benches/peers.py in ns-3: a dumbbell of TCP CUBIC flows, and Wi-Fi stations that download through one
// access point. Written against ns-3's public API. No traces; one line of key=value pairs at the end.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

using namespace ns3;

namespace
{
constexpr uint16_t PORT = 5000;

struct Options
{
    std::string net = "dumbbell";
    std::string queue = "DropTail";
    std::string rate = "10Mbps";
    uint32_t n = 1;
    uint32_t buffer = 84;
    uint32_t mss = 1448;
    uint32_t socketBuffer = 512 << 10;
    double delayMs = 48;
    double seconds = 10;
};

double
CpuSeconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

// Of this program alone: getrusage would include what ran before exec.
double
PeakMebibytes()
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
    {
        if (word == "VmHWM:")
        {
            double kibibytes = 0;
            status >> kibibytes;
            return kibibytes / 1024;
        }
    }
    return 0;
}

void
SetTcp(const Options& o)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpPrrRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(o.mss));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(o.socketBuffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(o.socketBuffer));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    // As in Linux: the second of ns-3 leaves half of a short run empty after slow start.
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
}

// A download without an end from one node to an address of another.
Ptr<PacketSink>
Download(Ptr<Node> from, Ptr<Node> to, Ipv4Address address, const Options& o, double start)
{
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), PORT));
    ApplicationContainer sinks = sink.Install(to);
    sinks.Start(Seconds(0));
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(address, PORT));
    source.SetAttribute("MaxBytes", UintegerValue(0));
    source.SetAttribute("SendSize", UintegerValue(o.mss));
    source.Install(from).Start(Seconds(start));
    return DynamicCast<PacketSink>(sinks.Get(0));
}

std::string
Subnet(uint32_t side, uint32_t i)
{
    return "10." + std::to_string(side) + "." + std::to_string(i / 64) + "." + std::to_string(i % 64 * 4);
}

Ipv4InterfaceContainer
Number(const NetDeviceContainer& devices, const std::string& base)
{
    Ipv4AddressHelper addresses;
    addresses.SetBase(base.c_str(), "255.255.255.252");
    return addresses.Assign(devices);
}

void
SetDefaultRoute(Ptr<Node> host, Ipv4Address router)
{
    Ipv4StaticRoutingHelper().GetStaticRouting(host->GetObject<Ipv4>())->SetDefaultRoute(router, 1);
}

//   sender i --10 Gbit/s-- router ==bottleneck== router --10 Gbit/s-- receiver i
std::vector<Ptr<PacketSink>>
Dumbbell(const Options& o)
{
    NodeContainer left(o.n), right(o.n), routers(2);
    InternetStackHelper stack;
    Ipv4StaticRoutingHelper staticRouting;
    stack.SetRoutingHelper(staticRouting);
    stack.SetIpv6StackInstall(false);
    stack.InstallAll();

    bool fair = o.queue == "FqCoDel";
    PointToPointHelper access, bottleneck;
    access.DisableFlowControl(); // no queue disc: packets go straight to the device's queue
    access.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    access.SetChannelAttribute("Delay", TimeValue(MilliSeconds(1)));
    access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));
    if (!fair)
    {
        bottleneck.DisableFlowControl();
    }
    bottleneck.SetDeviceAttribute("DataRate", StringValue(o.rate));
    bottleneck.SetChannelAttribute("Delay", TimeValue(Seconds(o.delayMs / 1e3)));
    bottleneck.SetQueue("ns3::DropTailQueue<Packet>",
                        "MaxSize",
                        StringValue(fair ? "1p" : std::to_string(o.buffer) + "p"));
    NetDeviceContainer core = bottleneck.Install(routers);
    // Nothing is lost on the way back.
    DynamicCast<PointToPointNetDevice>(core.Get(1))->GetQueue()->SetMaxSize(QueueSize("1000000p"));
    if (fair)
    {
        TrafficControlHelper control;
        control.SetRootQueueDisc("ns3::FqCoDelQueueDisc");
        control.Install(core.Get(0));
    }
    Ipv4InterfaceContainer middle = Number(core, "10.3.0.0");
    staticRouting.GetStaticRouting(routers.Get(0)->GetObject<Ipv4>())
        ->AddNetworkRouteTo("10.2.0.0", "255.255.0.0", middle.GetAddress(1), 1);
    staticRouting.GetStaticRouting(routers.Get(1)->GetObject<Ipv4>())
        ->AddNetworkRouteTo("10.1.0.0", "255.255.0.0", middle.GetAddress(0), 1);
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < o.n; ++i)
    {
        Ipv4InterfaceContainer near = Number(access.Install(left.Get(i), routers.Get(0)), Subnet(1, i));
        Ipv4InterfaceContainer far = Number(access.Install(routers.Get(1), right.Get(i)), Subnet(2, i));
        SetDefaultRoute(left.Get(i), near.GetAddress(1));
        SetDefaultRoute(right.Get(i), far.GetAddress(0));
        sinks.push_back(Download(left.Get(i), right.Get(i), far.GetAddress(1), o, 0));
    }
    return sinks;
}

NetDeviceContainer
Radio(const YansWifiPhyHelper& phy, const WifiMacHelper& mac, const NodeContainer& nodes)
{
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211ac);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue("VhtMcs7"),
                                 "ControlMode",
                                 StringValue("OfdmRate24Mbps"));
    return wifi.Install(phy, mac, nodes);
}

//   server --1 Gbit/s-- access point ))) stations, all within some metres; 80 MHz, one stream, MCS 7, short guard interval
std::vector<Ptr<PacketSink>>
Wifi(const Options& o)
{
    Config::SetDefault("ns3::HtConfiguration::ShortGuardIntervalSupported", BooleanValue(true));
    NodeContainer stations(o.n), point(1), server(1);
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    phy.Set("ChannelSettings", StringValue("{0, 80, BAND_5GHZ, 0}"));
    WifiMacHelper mac;
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(Ssid("peers")));
    NetDeviceContainer air = Radio(phy, mac, stations);
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(Ssid("peers")), "BE_MaxAmpduSize", UintegerValue(65535));
    air.Add(Radio(phy, mac, point));
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(stations);
    mobility.Install(point);

    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    wire.SetChannelAttribute("Delay", TimeValue(Seconds(o.delayMs / 1e3)));
    NetDeviceContainer wired = wire.Install(point.Get(0), server.Get(0));
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.InstallAll();
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.1.0.0", "255.255.255.0");
    Ipv4InterfaceContainer airAddresses = addresses.Assign(air);
    Number(wired, "10.3.0.0");
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < o.n; ++i)
    {
        // Stations associate within the first second.
        sinks.push_back(Download(server.Get(0), stations.Get(i), airAddresses.GetAddress(i), o, 1));
    }
    return sinks;
}
} // namespace

int
main(int argc, char** argv)
{
    Options o;
    CommandLine command(__FILE__);
    command.AddValue("net", "dumbbell or wifi", o.net);
    command.AddValue("queue", "DropTail or FqCoDel", o.queue);
    command.AddValue("rate", "of the bottleneck", o.rate);
    command.AddValue("n", "flows or stations", o.n);
    command.AddValue("buffer", "of the drop-tail queue, packets", o.buffer);
    command.AddValue("mss", "bytes", o.mss);
    command.AddValue("socketBuffer", "of senders and receivers, bytes", o.socketBuffer);
    command.AddValue("delay", "of the bottleneck or of the wire, one way, ms", o.delayMs);
    command.AddValue("dur", "simulated seconds", o.seconds);
    command.Parse(argc, argv);

    SetTcp(o);
    std::vector<Ptr<PacketSink>> sinks = o.net == "wifi" ? Wifi(o) : Dumbbell(o);
    Simulator::Stop(Seconds(o.seconds));
    double begun = CpuSeconds();
    Simulator::Run();
    double done = CpuSeconds();

    uint64_t bytes = 0;
    for (const auto& sink : sinks)
    {
        bytes += sink->GetTotalRx();
    }
    std::printf("dur=%g setup_cpu=%.6f run_cpu=%.6f rss_mb=%.3f packets=%llu goodput_mbps=%.3f\n",
                o.seconds,
                begun,
                done - begun,
                PeakMebibytes(),
                (unsigned long long)(bytes / o.mss),
                bytes * 8e-6 / o.seconds);
    std::fflush(stdout);
    _exit(0); // tearing down is not part of what is measured
}
